redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])
redis.call('hset', KEYS[2] .. ARGV[2], 'at', ARGV[1])
