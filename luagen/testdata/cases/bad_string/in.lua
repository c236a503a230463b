---@key lock any
return redis.call('get', 'abc
