redis.call('hset', KEYS[1], 'limit', 1, 'limits', 2, 'user', 3, 'used', 4, 'shard1', 5, 'shard2', 6)
redis.call('hset', KEYS[2], 'max_tx', 1, 'max_rx', 2)
redis.call('hset', KEYS[2], 'max_tx', 0)
return redis.call('hmget', KEYS[1], 'limit', 'user', 'limit', 'user')
