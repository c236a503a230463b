local all = redis.call('hgetall', KEYS[1])
redis.call('hset', KEYS[2], unpack(all))
redis.call('sadd', KEYS[3], unpack(redis.call('hkeys', KEYS[1])))
return 1
