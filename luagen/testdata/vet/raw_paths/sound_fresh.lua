local fresh = redis.call('EXISTS', KEYS[1]) == 0
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if fresh then redis.call('EXPIRE', KEYS[1], 60) end
return 1
