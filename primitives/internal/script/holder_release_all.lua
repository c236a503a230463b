--- Is holder_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key keys any...         in pairs: the lock, and the description of its holder
---@command publish publish|spublish
---@arg owners string...    one per pair
---@arg channels string... per owners   the channel of the waiters of each
---@return int[] status     per owner: 1 freed, 0 not held by it, -1 not a lock, -2 refused
---@include fault.lua
local status = {}
for i, owner in ipairs(owners) do
  local lock, holder = keys[2 * i - 1], keys[2 * i]
  local held = redis.pcall('hexists', lock, owner)
  if held ~= 1 then
    status[i] = fault(held)
  elseif type(redis.pcall(publish, channels[i], '0')) == 'number' then ---@allow channel one for each lock
    status[i] = redis.call('del', lock)
    redis.call('del', holder)
  else
    status[i] = -2
  end
end
return status
