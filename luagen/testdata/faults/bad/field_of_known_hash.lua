if redis.call('EXISTS', KEYS[1]) == 0 then
  return -1
end
local stock = tonumber(redis.call('HGET', KEYS[1], 'stock'))
local left = stock - tonumber(ARGV[1])
if left < 0 then
  return 0
end
redis.call('HSET', KEYS[1], 'stock', left)
return 1
