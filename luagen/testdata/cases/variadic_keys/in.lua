--- Renews many holds.
---@key locks hash...
---@arg lease milliseconds
---@arg owners string... per locks
---@arg counts int... per locks
---@return int[] status
local out = {}
for i, lock in ipairs(locks) do
  redis.call('pexpire', lock, lease)
  redis.call('hset', lock, owners[i], counts[i])
  out[i] = redis.call('pexpire', lock, lease)
end
return out
