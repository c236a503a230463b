--- Pushes to a queue unless it is full.
---@key queue list
---@arg most int(1..1000000)
---@arg items bytes...
---@return int pushed
local room = most - redis.call('LLEN', queue)
local pushed = 0
for i = 1, math.min(room, #items) do
  redis.call('RPUSH', queue, items[i])
  pushed = pushed + 1
end
return pushed
