--- Frees each lock that its owner holds, and wakes one of its waiters per client. Each lock has a status of its own:
--- a refusal for one lock does not fail the others.
---
---@key locks hash...              owner -> hold count
---@command publish publish|spublish
---@arg owners string... per locks
---@arg channels string... per locks   the channel of the waiters of each
---@return int[] status            per lock: 1 freed, 0 not held by its owner, -1 not a lock, -2 refused
---@include fault.lua
local status = {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('hexists', lock, owners[i])
  if held ~= 1 then
    status[i] = fault(held)
  elseif type(redis.pcall(publish, channels[i], '0')) == 'number' then ---@allow channel one for each lock
    status[i] = redis.call('del', lock)
  else
    status[i] = -2
  end
end
return status
