redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])
redis.call('hset', KEYS[2], ARGV[2], ARGV[1])
return redis.call('del', KEYS[1] .. ':meta')
