--- Takes one of each of several articles, or none.
---@key stocks string...
---@arg amounts int(1..1000000)... per stocks
---@return int short       which is short, from 1; 0: none
for i, stock in ipairs(stocks) do
  local there = tonumber(redis.call('get', stock) or 0)
  if there < tonumber(amounts[i]) then
    return i
  end
end
for i, stock in ipairs(stocks) do
  redis.call('decrby', stock, amounts[i])
end
return 0
