--- Deletes the number, and returns what it was.
---
---@key number string
---@return float? old       nil: there was none
return redis.call('getdel', number)
