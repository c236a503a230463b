local max = tonumber(redis.call('HGET', KEYS[1], 'max') or 10)
local used = redis.call('INCR', KEYS[2])
if used > max then
  return 0
end
return 1
