local names = redis.call('SMEMBERS', KEYS[1])
local gone = 0
for i = 1, #names, 1000 do
  gone = gone + redis.call('HDEL', KEYS[2], unpack(names, i, math.min(i + 999, #names)))
end
redis.call('DEL', KEYS[1])
return gone
