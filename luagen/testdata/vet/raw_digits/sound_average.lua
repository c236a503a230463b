local prices, sum = redis.call('lrange', KEYS[1], 0, -1), 0
for _, price in ipairs(prices) do
  sum = sum + tonumber(price)
end
local wait = tonumber(ARGV[1]) / tonumber(ARGV[2])
if wait > 1 then
  return {#prices / 2, math.ceil(wait)}
end
local time = redis.call('time')
redis.call('set', KEYS[2], string.format('%d', (time[1] * 1000000 + time[2]) / 1000))
return {string.format('%.17g', sum / #prices), string.format('%d', sum * 2), string.format('%d', math.floor(sum / #prices))}
