---@key lock string
---@key line zset
---@arg owner string
---@arg lease milliseconds
redis.call('set', lock, owner, 'nx', lease)
redis.call('set', lock, owner, lease)
redis.call('set', lock, owner, 'ifeq', owner)
redis.call('zadd', line, lease, owner, 'nx')
redis.call('zadd', line, owner, lease)
