redis.call('SET', KEYS[1], 0)
redis.call('DEL', KEYS[2])
redis.call('PERSIST', KEYS[3])
return 1
