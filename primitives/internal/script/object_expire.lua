--- Sets the TTL of an object's key, if it is of the right kind.
---
---@key object any
---@key beside any...       further keys of the object, whose kind is not checked
---@arg kind string         as TYPE names it
---@arg ttl milliseconds
---@return bool set         false: there is no such object
---@error OTHERKIND the key is of another kind
---@include kind.lua
local wrong = other(object, kind)
if wrong then
  return wrong
end
for _, key in ipairs(beside) do
  redis.call('pexpire', key, ttl)
end
return redis.call('pexpire', object, ttl)
