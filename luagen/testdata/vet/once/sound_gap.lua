--- Returns it.

--- It is what was stored last.
---@key k string
---@return string? r
---@readonly
return redis.call('get', k)
