--- Deletes an object, if its key is of the right kind.
---
---@key object any
---@arg kind string         as TYPE says it
---@return bool deleted     false: there was none
---@error OTHERKIND the key is of another kind
---@include kind.lua
local wrong = other(object, kind)
if wrong then
  return wrong
end
return redis.call('del', object)
