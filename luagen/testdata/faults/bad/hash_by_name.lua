local limits = redis.call('HGETALL', KEYS[1])
local max = tonumber(limits.max or 10)
local used = redis.call('INCR', KEYS[2])
if used > max then
  return 0
end
return 1
