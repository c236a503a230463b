return redis.call('hste', KEYS[1])
