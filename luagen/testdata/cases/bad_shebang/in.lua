#!lua flags=no-writes
---@key lock any
return redis.call('getdel', lock)
