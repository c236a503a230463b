---@key k string
return redis.call('get', k, 1)
