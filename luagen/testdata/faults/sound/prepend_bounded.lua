local size = redis.call('LPUSH', KEYS[1], ARGV[1])
local most = tonumber(ARGV[2])
if size > most then
  redis.call('LTRIM', KEYS[1], 0, most - 1)
  size = most
end
return size
