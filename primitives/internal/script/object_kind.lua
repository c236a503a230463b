--- Returns what kind of value a key holds.
---
---@key object any
---@return string kind      as TYPE says it; none: nothing
---@readonly
return redis.call('type', object)
