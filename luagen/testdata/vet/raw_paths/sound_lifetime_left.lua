redis.call('incr', KEYS[1])
local t = redis.call('ttl', KEYS[1])
if t > 0 then return t end
redis.call('expire', KEYS[1], ARGV[2])
return 1
