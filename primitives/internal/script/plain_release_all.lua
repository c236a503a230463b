--- Is plain_release for each owner. Each has a status of its own: a refusal for one lock does not fail the others.
---
---@key locks string...            owner
---@command publish publish|spublish
---@arg owners string... per locks
---@arg channels string... per locks   the channel of the waiters of each
---@return int[] status            per lock: 1 freed, 0 not held by its owner, -1 not a lock, -2 refused
---@include fault.lua
local status = {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('get', lock)
  if held == owners[i] then
    redis.pcall(publish, channels[i], '0') ---@allow channel one for each lock
    status[i] = redis.call('del', lock)
  else
    status[i] = type(held) == 'table' and fault(held) or 0
  end
end
return status
