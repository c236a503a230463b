if redis.call('exists', KEYS[1]) == 0 then
  return false
end
local n = redis.call('incr', KEYS[2])
redis.call('expire', KEYS[2], 60)
if n > 9 then
  return false
end
redis.call('getset', KEYS[1], ARGV[1])
return true
