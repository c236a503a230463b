--- Extends each read hold to a whole lease, if its owner still holds it, and makes its lock last at least as long.
--- The leases of other readers do not change. Each hold has a status of its own.
---
---@key keys any...         in pairs: the lock, and the hold's side key
---@arg lease milliseconds
---@arg owners string...    one per pair
---@return int[] status     per owner: 1 renewed, 0 not held, -1 not a lock, -2 refused
---@retry safe
---@include fault.lua
local status = {}
for i, owner in ipairs(owners) do
  local lock, hold = keys[2 * i - 1], keys[2 * i]
  local held = redis.pcall('hexists', lock, owner)
  status[i] = held == 1 and redis.call('pexpire', hold, lease) or fault(held)
  if status[i] == 1 and redis.call('pttl', lock) < tonumber(lease) then
    redis.call('pexpire', lock, lease)
  end
end
return status
