---@key lock hash
---@channel released
---@include tell.lua
redis.call('hdel', lock, 'x')
tell(released)
