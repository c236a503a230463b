local prices, sum = redis.call('lrange', KEYS[1], 0, -1), 0
for _, price in ipairs(prices) do
  sum = sum + tonumber(price)
end
local median = (tonumber(ARGV[1]) + tonumber(ARGV[2])) / 2
return {string.format('%d', median), string.format('%d', sum / #prices)}
