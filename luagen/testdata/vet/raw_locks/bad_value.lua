-- ARGV[1]: who asks (the holder)
-- KEYS[2]: lock, ARGV[2]: its uuid
local value = redis.call('get', KEYS[1])
if not value then return 0 end
redis.call('unlink', KEYS[1])
return redis.call('del', KEYS[2])
