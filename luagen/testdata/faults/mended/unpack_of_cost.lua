local cost = tonumber(ARGV[2])
for _ = 1, cost do
  redis.call('LPUSH', KEYS[1], ARGV[1])
end
redis.call('EXPIRE', KEYS[1], ARGV[3])
return cost
