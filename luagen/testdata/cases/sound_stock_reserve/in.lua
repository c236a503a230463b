--- Reserves some of a stock for an order, for a time.
---@key stock string
---@key reservation string
---@arg amount int(1..1000000)
---@arg hold seconds
---@return bool reserved
---@error EXISTS the order has a reservation
if redis.call('EXISTS', reservation) == 1 then
  return redis.error_reply('EXISTS the order has a reservation')
end
local left = tonumber(redis.call('GET', stock))
if left == nil or left < tonumber(amount) then
  return false
end
redis.call('DECRBY', stock, amount)
redis.call('SET', reservation, amount, 'EX', hold)
return true
