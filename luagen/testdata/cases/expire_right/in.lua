--- Nothing that may fail stands between a key and its end.
---@key lock hash
---@key token string
---@key side string prefix
---@arg owner string
---@arg lease milliseconds
---@command publish publish|spublish
---@channel released
---@return int? fence
if redis.call('hexists', lock, owner) == 1 then
  redis.call('hincrby', lock, owner, 1)
  redis.call('incr', token)
  redis.call('pexpire', lock, lease)
  return redis.call('get', token)
end
local held = redis.call('hget', lock, 'held')
if held then
  redis.call('hset', lock, 'again', 1)
  redis.call('incr', token)
  redis.call('pexpire', lock, lease)
  return false
end
local fence = redis.call('incr', token)
redis.call('pexpire', lock, lease)
redis.call('hset', lock, owner, 1)
redis.call('hset', lock, 'mode', 'read')
redis.call(publish, released, '0')
redis.call('pexpire', lock, lease)
redis.call('set', side .. ':1', 1, 'px', lease)
redis.call('incr', token)
redis.call('pexpire', side .. ':1', lease)
redis.call('pexpire', side .. ':2', lease)
redis.call('set', side .. ':2', 1)
redis.pcall('incr', token)
redis.call('pexpire', side .. ':2', lease)
redis.call('set', side .. ':3', 1)
redis.call('del', side .. ':3')
redis.call('incr', token)
redis.call('pexpire', side .. ':3', lease)
return fence
