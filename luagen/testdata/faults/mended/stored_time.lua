local now = ARGV[1]
if redis.call('set', KEYS[1], now + 60, 'nx', 'ex', 60) then
  return 1
end
local stored = redis.call('get', KEYS[1])
if stored and tonumber(stored) < tonumber(now) then
  redis.call('set', KEYS[1], now + 60, 'xx', 'ex', 60)
  return 1
end
return 0
