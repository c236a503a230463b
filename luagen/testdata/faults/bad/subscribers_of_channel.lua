if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'name', ARGV[1])
  return 0
end
local subscribers = tonumber(redis.call('HGET', KEYS[1], 'subscribers'))
if subscribers > 0 then
  redis.call('RPUSH', KEYS[2], ARGV[1])
end
return subscribers
