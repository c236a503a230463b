local value = redis.call('GET', KEYS[1])
if not value then return 0 end
redis.call('SET', KEYS[2], value)
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('EXPIRE', KEYS[2], left) end
return 1
