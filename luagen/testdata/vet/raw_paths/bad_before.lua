redis.call('EXPIRE',KEYS[1],60)
redis.call('HSET',KEYS[1],'a',1)
