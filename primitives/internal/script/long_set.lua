--- Sets the number. An end of the key's life is gone.
---
---@key number string
---@arg value int
---@return string ok
return redis.call('set', number, value)
