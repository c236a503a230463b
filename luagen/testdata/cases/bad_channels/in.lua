---@key lock hash
---@key queue list
---@channel released
---@channel turn prefix
---@command publish publish|spublish
---@arg owner string
---@include tell.lua
redis.call('hdel', lock, owner)
redis.call('publish', lock, '0')
redis.call('publish', owner, '0')
redis.call(publish, released .. ':' .. owner, '0')
redis.call(publish, 'x' .. turn, '0')
redis.call('spublish', redis.call('lindex', queue, 0), '0')
redis.call('get', released)
tell(owner)
redis.call('publish', released)
