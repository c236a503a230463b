local settings = redis.call('hmget', KEYS[1], 'running', 'maxConcurrent')
local function number(raw)
  return tonumber(raw or '0')
end
local running = number(settings[1])
local max = number(settings[2])
if running < max then
  redis.call('hincrby', KEYS[1], 'running', 1)
  return 1
end
return 0
