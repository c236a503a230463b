--- The words of commands that depend on the caller.
---
---@key lock string
---@key line zset
---@arg owner string
---@arg score string
---@arg lease milliseconds
---@arg fields string...
---@since redis 8.2
redis.call('set', lock, owner, 'nx', 'px', lease)
redis.call('zadd', line, score, owner)
redis.call('zadd', line, 'nx', unpack(fields))
