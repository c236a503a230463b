--- Returns the kind of a key's value.
---
---@key object any
---@return string kind      as TYPE names it; none: nothing
---@readonly
return redis.call('type', object)
