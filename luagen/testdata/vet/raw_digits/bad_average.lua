local prices, sum = redis.call('lrange', KEYS[1], 0, -1), 0
for _, price in ipairs(prices) do
  sum = sum + tonumber(price)
end
local wait = tonumber(ARGV[3]) / tonumber(ARGV[4])
if wait > 1 then
  return {0, wait}
end
local median = (tonumber(ARGV[1]) + tonumber(ARGV[2])) / 2
return {string.format('%d', median), string.format('%d', sum / #prices)}
