return redis.call('HGET', KEYS[1], KEYS[2])
