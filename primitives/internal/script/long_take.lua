--- Deletes the number, and returns what it was.
---
---@key number string
---@return int? old         nil: there was none
return redis.call('getdel', number)
