local id = redis.call('incr', KEYS[1])
redis.call('zadd', KEYS[2], id, ARGV[1])
redis.call('expire', KEYS[2], ARGV[2])
redis.call('hset', KEYS[3], 'at', ARGV[3])
redis.call('expire', KEYS[3], ARGV[2])
return id
