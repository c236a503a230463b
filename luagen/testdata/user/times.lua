--- Takes times.
---@key k list
---@arg a milliseconds
---@arg b seconds(1..86400)
---@arg c milliseconds(-1..)?
---@arg d seconds(..60)...
return redis.call('rpush', k, a, b, c or '', #d)
