-- KEYS[1]: lock
-- KEYS[2]: waiters
-- ARGV[1]: token of the caller
if redis.call('exists', KEYS[1]) == 0 then return 0 end
redis.call('del', KEYS[1])
redis.call('rpush', KEYS[2], ARGV[1])
return 1
