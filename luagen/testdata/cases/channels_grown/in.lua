--- A channel grown from a declared prefix, and the prefix itself.
---@key lock string
---@command publish publish|spublish
---@channel turn prefix
local owner = redis.call('get', lock)
if owner then
  redis.call(publish, turn .. ':' .. owner, '0')
end
