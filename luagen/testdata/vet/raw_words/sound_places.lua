local rateKey, jobId, now, jobs = KEYS[1], ARGV[1], ARGV[2], KEYS[3]
redis.call('sadd', jobs, rateKey)
redis.call('publish', ARGV[3], rateKey)
redis.call('publish', KEYS[2], jobId)
redis.call('hset', KEYS[4], jobId, 'pending')
redis.call('incrby', rateKey, now)
redis.call('zadd', KEYS[5], '(1' .. ARGV[4], 'job:' .. jobId)
