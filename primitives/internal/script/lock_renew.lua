--- Extends the lease of each lock that its owner holds to a whole lease. Each lock has a status of its own: a key of
--- another kind does not fail the others.
---
---@key locks hash...       owner -> hold count
---@arg lease milliseconds
---@arg owners string... per locks
---@return int[] status     per lock: 1 renewed, 0 not held by its owner, -1 not a lock, -2 refused
---@retry safe
---@include fault.lua
local status = {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('hexists', lock, owners[i])
  if held == 1 then
    status[i] = redis.call('pexpire', lock, lease)
  elseif held == 0 then
    status[i] = 0
  else
    status[i] = fault(held)
  end
end
return status
