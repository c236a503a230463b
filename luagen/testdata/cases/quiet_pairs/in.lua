--- pairs that only sums, counts, and looks for what is there.
---@key total string
---@arg json string
---@arg wanted string
---@return int(0..1000000) sum
local sum, n, best = 0, 0, 0
local prices = {[json] = 1, b = 2}
for name, price in pairs(prices) do
  sum = sum + price
  n = n + 1
  if price > best then
    best = price
  end
  if name == wanted then
    return 0
  end
end
redis.call('set', total, sum)
redis.call('append', total, n .. best)
return sum
