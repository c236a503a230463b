local gone = redis.call('smembers', KEYS[1])
redis.call('srem', KEYS[1], unpack(gone))
redis.call('zrem', KEYS[2], unpack(gone))
redis.call('hdel', KEYS[3], unpack(redis.call('smembers', KEYS[4])))
