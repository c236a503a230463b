--- Returns how many of owner's read holds have a lease that still runs.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  in front of each reader's side key: side:owner:rwlock_timeout:1
---@arg owner string
---@return int count
---@readonly
local count = 0
for n = 1, tonumber(redis.call('hget', lock, owner) or '0') or 0 do
  count = count + redis.call('exists', side .. ':' .. owner .. ':rwlock_timeout:' .. n)
end
return count
