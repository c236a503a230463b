--- A limit is compared with what is surely small, or has bounds: no digit is lost.
---@key queue list
---@key used string
---@arg limit int
---@arg most int(1..1000000)
---@arg seen int
---@return bool added
local max = tonumber(limit)
if max <= 0 or redis.call('llen', queue) >= max then
  return 0
end
if tonumber(redis.call('get', used) or '0') >= tonumber(most) or not tonumber(seen) then
  return 0
end
if tonumber(seen) == nil or tonumber(limit) ~= nil and max > 5 then
  return 0
end
for i = 1, tonumber(limit) do
  redis.call('rpush', queue, 'entry ' .. i)
end
redis.call('incr', used)
return 1
