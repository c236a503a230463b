--- Reports whether a message was not seen before.
---@key seen string
---@arg keep seconds
---@return bool first
return redis.call('set', seen, 1, 'nx', 'ex', keep) and 1 or 0
