--- Prose.
---@key lock any
--- More prose.
---@arg owner string
--- Prose at the end.
-- @return string x
--- @readonly
local x = redis.call('hdel', lock, owner)
---@key late hash
---@retyr safe
return x
