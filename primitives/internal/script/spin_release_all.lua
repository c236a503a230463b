--- Frees each lock that its owner holds. Each owner has a status of its own: a refusal for one owner does not fail
--- the others.
---
---@key locks hash...              owner -> hold count
---@arg owners string... per locks
---@return int[] status            per lock: 1 freed, 0 not held by its owner, -1 not a lock, -2 refused
---@include fault.lua
local status = {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('hexists', lock, owners[i])
  status[i] = held == 1 and redis.call('del', lock) or fault(held)
end
return status
