redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])
redis.call('zadd', KEYS[2], ARGV[1], ARGV[2])
redis.call('expire', KEYS[1], ARGV[3])
return redis.call('zcard', KEYS[2])
