---@key lock hash
---@include text.lua
---@arg owner string
---@include more.lua
return redis.call('hset', lock, owner, double(twice(owner)))
