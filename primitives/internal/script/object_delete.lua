--- Deletes an object, if its key is of the right kind.
---
---@key object any
---@key beside any...       further keys of the object, whose kind is not checked
---@arg kind string         as TYPE names it
---@return bool deleted     false: there was none
---@error OTHERKIND the key is of another kind
---@include kind.lua
local wrong = other(object, kind)
if wrong then
  return wrong
end
for _, key in ipairs(beside) do
  redis.call('del', key)
end
return redis.call('del', object)
