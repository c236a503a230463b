local time = redis.call('TIME')
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('DEL', KEYS[1])
for i = 1, tonumber(ARGV[1]) do
  redis.call('SADD', KEYS[1], string.format('%.0f-%d', ms, i))
end
return redis.call('SCARD', KEYS[1])
