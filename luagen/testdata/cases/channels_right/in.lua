--- Channels on their ways to a command.
---@key lock hash
---@channel released
---@channel turn prefix
---@command publish publish|spublish
---@arg owner string
---@include tell.lua
local function wake(channel) redis.call(publish, channel, '0') end
redis.call('hdel', lock, owner)
wake(released)
wake(turn .. owner)
local own = turn .. ':' .. owner
redis.call('publish', own, '0')
redis.call('publish', turn, '0')
redis.call('publish', 'news', '0')
tell(released)
