--- Takes the end from the life of an object's key, if it is of the right kind.
---
---@key object any
---@arg kind string         as TYPE says it
---@return bool changed     false: it had no end, or there is no such object
---@error OTHERKIND the key is of another kind
---@include kind.lua
local wrong = other(object, kind)
if wrong then
  return wrong
end
return redis.call('persist', object)
