local cost = tonumber(ARGV[2])
local entries = {}
for i = 1, cost do
  entries[i] = ARGV[1]
end
redis.call('LPUSH', KEYS[1], unpack(entries))
redis.call('EXPIRE', KEYS[1], ARGV[3])
return cost
