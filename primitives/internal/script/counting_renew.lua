--- Extends each owner's hold to a whole lease, if it has not ended. Each owner has a status of its own: a key of
--- another kind does not fail the others.
---
---@key semaphores zset...  holder -> when its hold ends, in milliseconds
---@arg lease milliseconds
---@arg owners string... per semaphores
---@return int[] status     per owner: 1 renewed, 0 not held by it, -1 not a semaphore, -2 refused
---@retry safe
---@include counting.lua
---@include fault.lua
local status, now = {}, clock()
for i, semaphore in ipairs(semaphores) do
  local ends = redis.pcall('zscore', semaphore, owners[i])
  if type(ends) == 'table' then
    status[i] = fault(ends)
  elseif ends and tonumber(ends) >= now then
    ask(semaphore)
    enter(semaphore, now, owners[i], now + lease, last(semaphore, now + lease))
    status[i] = 1
  else
    status[i] = 0
  end
end
return status
