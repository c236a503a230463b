local cost = tonumber(ARGV[1])
local n = redis.call('INCRBY', KEYS[1], cost)
if n == cost then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return n
