redis.call('DEL', KEYS[1])
return redis.call('LLEN', KEYS[3])
