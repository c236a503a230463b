--- Takes several items from a list.
---@key queue list
---@arg most int(1..1000)
---@return bytes[] items
local items = redis.call('LRANGE', queue, 0, most - 1)
if #items > 0 then
  redis.call('LTRIM', queue, #items, -1)
end
return items
