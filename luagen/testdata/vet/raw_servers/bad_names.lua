redis.call('expiremember', KEYS[1], 'a', 5)
return redis.call('zrangebyscor', KEYS[1], 0, 5)
