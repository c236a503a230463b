--- Gives an object's key a life of so long, if it is of the right kind.
---
---@key object any
---@key beside any...       further keys of the object, whose kind nobody asks for
---@arg kind string         as TYPE says it
---@arg life milliseconds
---@return bool set         false: there is no such object
---@error OTHERKIND the key is of another kind
---@include kind.lua
local wrong = other(object, kind)
if wrong then
  return wrong
end
for _, key in ipairs(beside) do
  redis.call('pexpire', key, life)
end
return redis.call('pexpire', object, life)
