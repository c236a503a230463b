local left = redis.call('PTTL', KEYS[1])
if left > 0 then
  redis.call('SET', KEYS[2], left)
end
local hits = tonumber(redis.call('GET', KEYS[1]))
return hits + 1
