--- Uses names of its own that only look like KEYS and ARGV, and indexes a declared list.
---@key locks string...
---@return string? first
---@readonly
local argv = {KEYS = 1, ARGV = 2}
if argv.KEYS == argv.ARGV then return false end
return redis.call('get', locks[1])
