local rate = tonumber(redis.call('hget', KEYS[1], 'rate'))
local interval = redis.call('hget', KEYS[1], 'interval')
if not rate or not interval then
  return redis.error_reply('NOTSET the limiter has no settings')
end
local value = redis.call('get', KEYS[2])
if value == false then
  value = rate
  redis.call('set', KEYS[2], value - ARGV[1], 'PX', interval)
  return 1
end
if tonumber(value) < tonumber(ARGV[1]) then
  return 0
end
redis.call('decrby', KEYS[2], ARGV[1])
return 1
