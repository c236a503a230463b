---@key lock hash
---@command publish publish|spublish
---@channel released
---@channel turn prefix
---@arg owner string
redis.call('hdel', lock, owner)
redis.call(publish, released, '0')
redis.call(publish, turn .. owner, '0')
