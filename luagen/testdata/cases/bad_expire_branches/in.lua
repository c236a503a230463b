---@key lock hash
---@key side string prefix
---@key queue list
---@arg owner string
---@arg lease milliseconds
if redis.call('exists', lock) == 0 or owner == '' then
  redis.call('hset', lock, owner, 1)
  if owner ~= '' then
    redis.call('lpush', queue, owner)
  end
  redis.call('pexpire', lock, lease)
end
redis.call('set', side .. ':1', 1)
redis.call('hget', lock, owner)
redis.call('expire', side .. ':1', 5)
