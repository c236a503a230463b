return redis.call('get', KEYS[1]
