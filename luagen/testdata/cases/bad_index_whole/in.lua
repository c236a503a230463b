--- Takes KEYS and ARGV as tables, by a name of their own and through unpack.
---@key lock any
---@arg owner string
local keys = KEYS
redis.call('del', lock, unpack(ARGV))
return #keys + #owner
