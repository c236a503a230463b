---@key lock any
---@arg owner string
lock = lock .. ':x'
local function f() owner, lock = 1, owner end
function lock() end
return redis.call('hdel', lock, f())
