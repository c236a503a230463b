--- Returns the last token granted.
---
---@key token string        decimal
---@return int? last        nil: there is none
---@readonly
return redis.call('get', token)
