--- Returns the number.
---
---@key number string
---@return int? value      nil: there is none, which counts as 0
---@readonly
return redis.call('get', number)
