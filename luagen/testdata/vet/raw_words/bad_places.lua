local rateKey, jobId, now, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
redis.call('sadd', jobId, rateKey)
redis.call('publish', ARGV[4], KEYS[2])
redis.call('expire', ttl, rateKey)
redis.call('hset', KEYS[3], 'state', ARGV[5], now, 'at')
redis.call('hset', KEYS[3], ARGV[6], 'owner')
redis.call('zadd', KEYS[4], now, jobId)
redis.call('zadd', KEYS[4], jobId .. ':' .. now, 1)
return redis.call('hget', KEYS[3], 'owner')
