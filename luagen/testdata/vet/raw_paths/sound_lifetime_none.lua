local n = redis.call('incr', KEYS[1])
if n == 1 then redis.call('expire', KEYS[1], ARGV[2]) end
local t = redis.call('ttl', KEYS[1])
if t < 0 then return 1 end
return t
