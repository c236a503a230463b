---@key lock string
loadstring("return redis.call('get', 'foo')")(lock)
