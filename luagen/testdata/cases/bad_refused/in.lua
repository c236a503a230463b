--- A user who may not expire keys leaves some that never end. What goes before shows nothing where
--- it is of another command, of another key, not on every way, or protected.
---@key a hash
---@key b hash
---@key c hash
---@key d hash
---@key e hash
---@key f hash
---@key more hash...
---@arg owner string
---@arg lease milliseconds
redis.call('hset', a, owner, 1)
redis.call('pexpire', a, lease)
redis.call('expire', b, 5)
redis.call('hset', b, owner, 1)
redis.call('pexpire', b, lease)
redis.call('hset', c, owner, 1)
redis.call('pexpire', c, lease)
if owner ~= '' then
  redis.call('pexpire', d, lease)
end
redis.call('hset', d, owner, 1)
redis.call('pexpire', d, lease)
redis.pcall('pexpire', e, lease)
redis.call('hincrby', e, owner, 1)
redis.call('pexpire', e, lease)
if owner ~= '' then
  redis.call('pexpire', f, lease)
end
redis.call('hsetnx', f, owner, 1)
redis.call('pexpire', f, lease)
for _, lock in ipairs(more) do
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease)
end
