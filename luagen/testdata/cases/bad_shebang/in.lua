#!lua flags=no-writes
---@key lock hash
return redis.call('get', lock)
