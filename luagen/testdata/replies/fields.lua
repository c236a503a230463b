--- Reads fields of which some may be missing.
---@key user hash
---@return string?[] fields
---@readonly
return redis.call('hmget', user, 'name', 'mail')
