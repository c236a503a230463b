--- Returns several results.
---@key k any
---@return int a
---@return int(1..3)? b
---@return string? c
---@return float[] d
---@return bool e
return {redis.call('incr', k), false, false, {}, 1}
