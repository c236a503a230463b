---@key lock hash
---@arg next string
---@arg type string
---@include library.lua
if type(next) == 'string' then
  redis.call('hset', lock, next, first({1}))
end
