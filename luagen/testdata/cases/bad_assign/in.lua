---@key lock hash
---@arg owner string
lock = lock .. ':x'
local function f() owner, lock = 1, owner end
function lock() end
return redis.call('hget', lock, f())
