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
  local field = redis.pcall('hexists', lock, owner)
  if field == 1 then
    status[i] = redis.call('pexpire', hold, lease)
    if status[i] == 1 and redis.call('pttl', lock) < tonumber(lease) then
      redis.call('pexpire', lock, lease)
    end
  elseif field == 0 then
    status[i] = 0
  else
    status[i] = fault(field)
  end
end
return status
