--- Tells who holds it.
---@key lock hash
---@readonly
---@return string[] owners
return redis.call('hkeys', lock)
