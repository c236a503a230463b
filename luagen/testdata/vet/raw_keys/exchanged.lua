-- The key stands where the value belongs, at the second call.
local first = redis.call('lpop', KEYS[1])
redis.call('rpush', first, ARGV[1])
redis.call('rpush', first, KEYS[2])
