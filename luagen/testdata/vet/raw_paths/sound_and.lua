local n = redis.call('INCR', KEYS[1])
return n == 1 and redis.call('EXPIRE', KEYS[1], 9) or 0
