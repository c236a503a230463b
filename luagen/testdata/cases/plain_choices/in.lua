---@key lock string
---@arg mode read|write
---@return string before
return redis.call('getset', lock, mode)
