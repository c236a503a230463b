--- Takes an optional argument of each type that has one, and returns one.
---@key k any
---@arg a int?
---@arg b float?
---@arg c milliseconds?
---@arg d seconds?
---@arg e unixmilli?
---@return milliseconds? wait
return redis.call('rpush', k, a or 0, b or 0, c or 0, d or 0, e or 0)
