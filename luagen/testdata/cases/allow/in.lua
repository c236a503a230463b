---@key lock hash
---@allow unused the batch hands it to all of its scripts
---@arg owner string
---@arg lease int of the next version ---@allow unused callers send it already
local x = KEYS[1] ---@allow index shown in the tutorial
---@allow unused also shown
---@allow index shown twice
local y = ARGV[1]
return redis.call('del', lock, x)
