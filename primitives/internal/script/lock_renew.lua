--- Extends the lease of each lock that its owner holds to a whole lease. Each lock has a status of its own: a key of
--- another kind does not fail the others.
---
---@key locks hash...       owner -> hold count
---@arg lease milliseconds
---@arg owners string... per locks
---@return int[] status     per lock: 1 renewed, 0 held by nobody, 3 held by another, -1 not a lock, -2 refused
---@return string[] others  of each status 3: the field of that owner
---@retry safe
---@include lost.lua
local status, others = {}, {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('hexists', lock, owners[i])
  status[i] = held == 1 and redis.call('pexpire', lock, lease) or lost(held, lock, others)
end
return {status, others}
