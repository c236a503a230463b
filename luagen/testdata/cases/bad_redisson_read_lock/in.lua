--- Takes the lock for reading. Each hold has a side key that ends with its lease.
---@key lock hash
---@arg owner string
---@arg lease milliseconds
---@return milliseconds? wait
local mode = redis.call('hget', lock, 'mode')
if mode == nil then
  redis.call('hset', lock, 'mode', 'read')
  mode = 'read'
end
if mode ~= 'read' then
  return redis.call('pttl', lock)
end
local n = redis.call('hincrby', lock, owner, 1)
local side = '{' .. lock .. '}:' .. owner .. ':rwlock_timeout:' .. n
redis.call('set', side, 1)
redis.call('pexpire', side, lease)
local left = redis.call('pttl', lock)
redis.call('pexpire', lock, math.max(left, lease))
return nil
