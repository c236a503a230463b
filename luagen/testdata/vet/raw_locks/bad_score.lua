-- ARGV[1]: due time (Unix milliseconds)
local seq = redis.call('incr', KEYS[1])
redis.call('expire', KEYS[1], 60)
redis.call('zadd', KEYS[2], tonumber(ARGV[1]) * 0x100000 + seq, ARGV[2])
redis.call('zadd', KEYS[2], tonumber(ARGV[1]) * 2 ^ 21, ARGV[2])
return 1
