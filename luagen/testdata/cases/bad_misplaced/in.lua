--- Prose.
---@key lock hash
--- More prose.
---@arg owner string
--- Prose at the end.
-- @return string x
--- @readonly
local x = redis.call('hget', lock, owner)
---@key late hash
---@retyr safe
return x
