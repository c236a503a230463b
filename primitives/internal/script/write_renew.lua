--- Extends each write hold to a whole lease, if its owner still holds it. If a reader's lease makes the lock last
--- longer, it keeps that expiry. Each lock has a status of its own.
---
---@key locks hash...       mode, and the holds: owner -> 1, owner:write -> 1
---@arg lease milliseconds
---@arg owners string... per locks
---@return int[] status     per lock: 1 renewed, 0 held by nobody, 3 held by another, -1 not a lock, -2 refused
---@return string[] others  of each status 3: the field of that owner
---@retry safe
---@include lost.lua
local status, others = {}, {}
for i, lock in ipairs(locks) do
  local held = redis.pcall('hexists', lock, owners[i] .. ':write')
  status[i] = held == 1 and 1 or lost(held, lock, others)
  if held == 1 and redis.call('pttl', lock) < tonumber(lease) then
    redis.call('pexpire', lock, lease)
  end
end
return {status, others}
