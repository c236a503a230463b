local fresh = redis.call('EXISTS', KEYS[1]) == 0
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if fresh then redis.call('EXPIRE', KEYS[1], 60) end
local first = redis.call('INCR', KEYS[2]) == 1
if first then redis.call('EXPIRE', KEYS[2], 60) end
return 1
