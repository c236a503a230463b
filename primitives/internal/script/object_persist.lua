--- Removes the expiry of an object's key, if it is of the right kind.
---
---@key object any
---@key beside any...       further keys of the object, whose kind is not checked
---@arg kind string         as TYPE names it
---@return bool changed     false: it had no expiry, or there is no such object
---@error OTHERKIND the key is of another kind
---@include kind.lua
local wrong = other(object, kind)
if wrong then
  return wrong
end
for _, key in ipairs(beside) do
  redis.call('persist', key)
end
return redis.call('persist', object)
