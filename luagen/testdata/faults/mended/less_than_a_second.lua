local n = redis.call('INCRBY', KEYS[1], ARGV[1])
local seconds = math.floor(tonumber(ARGV[2]) / 1000)
if n == tonumber(ARGV[1]) then
  redis.call('EXPIRE', KEYS[1], seconds + 1)
end
return n
