--- Takes the lock for reading. Each hold has a side key that ends with its lease.
---@key lock hash
---@key side string prefix  {name}:owner:rwlock_timeout
---@arg owner string
---@arg writer string
---@arg lease milliseconds
---@return milliseconds? wait
local mode = redis.call('hget', lock, 'mode')
local mine = mode == 'write' and redis.call('hexists', lock, writer) == 1
if mode and mode ~= 'read' and not mine then
  return redis.call('pttl', lock)
end
local n = tonumber(redis.call('hget', lock, owner) or '0') + 1
redis.call('set', side .. ':' .. n, 1, 'px', lease)
local left = redis.call('pttl', lock)
redis.call('pexpire', lock, math.max(left, tonumber(lease)))
redis.call('hset', lock, 'mode', mode or 'read', owner, n)
redis.call('pexpire', lock, math.max(left, tonumber(lease)))
return false
