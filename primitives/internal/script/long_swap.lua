--- Sets the number, and returns what it was. An end of the key's life is gone.
---
---@key number string
---@arg value int
---@return int? old         nil: there was none
return redis.call('getset', number, value)
