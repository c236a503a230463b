--- Is counting_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key semaphores zset...         holder -> when its hold ends, in milliseconds
---@command publish publish|spublish
---@arg owners string... per semaphores
---@arg channels string... per semaphores   the channel of the waiters of each
---@return int[] status            per owner: 1 released, 0 not held, -1 not a semaphore, -2 refused
---@include clock.lua
---@include fault.lua
local status, now = {}, clock()
for i, semaphore in ipairs(semaphores) do
  local ends = redis.pcall('zscore', semaphore, owners[i])
  if type(ends) == 'table' then
    status[i] = fault(ends)
  elseif ends and tonumber(ends) >= now then
    local sent = redis.pcall(publish, channels[i], '1') ---@allow channel one for each semaphore
    if type(sent) == 'number' then
      status[i] = redis.call('zrem', semaphore, owners[i])
    else
      status[i] = -2
    end
  else
    redis.call('zrem', semaphore, owners[i])
    status[i] = 0
  end
end
return status
