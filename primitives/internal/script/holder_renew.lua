--- Extends the lease of each lock that its owner holds to a whole lease, and the holder's description with it. Each
--- lock has a status of its own: a key of another kind does not fail the others.
---
---@key keys any...         in pairs: the lock, and the description of its holder
---@arg lease milliseconds
---@arg owners string...    one per pair
---@return int[] status     per owner: 1 renewed, 0 held by nobody, 3 held by another, -1 not a lock, -2 refused
---@return string[] others  of each status 3: the field of that owner
---@retry safe
---@include lost.lua
local status, others = {}, {}
for i, owner in ipairs(owners) do
  local lock, holder = keys[2 * i - 1], keys[2 * i]
  local held = redis.pcall('hexists', lock, owner)
  if held == 1 then
    redis.call('pexpire', holder, lease)
  end
  status[i] = held == 1 and redis.call('pexpire', lock, lease) or lost(held, lock, others)
end
return {status, others}
