--- Extends each write hold to a whole lease, if its owner still holds it. If a reader's lease makes the lock last
--- longer, it keeps that expiry. Each lock has a status of its own.
---
---@key locks hash...       mode, and the holds: owner -> 1, owner:write -> 1
---@arg lease milliseconds
---@arg owners string... per locks
---@return int[] status     per lock: 1 renewed, 0 not held by its owner, -1 not a lock, -2 refused
---@retry safe
---@include fault.lua
local status = {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('hexists', lock, owners[i] .. ':write')
  status[i] = held == 1 and 1 or fault(held)
  if held == 1 and redis.call('pttl', lock) < tonumber(lease) then
    redis.call('pexpire', lock, lease)
  end
end
return status
