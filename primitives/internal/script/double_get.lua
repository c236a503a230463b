--- Returns the number.
---
---@key number string
---@return float? value    nil: there is none, which counts as 0
---@readonly
return redis.call('get', number)
