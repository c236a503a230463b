-- ARGV[1]: who asks (the holder)
local value = redis.call('get', KEYS[1])
if not value then return 0 end
return redis.call('unlink', KEYS[1])
