---@key users set... per user of the site
---@return int n
---@readonly
return redis.call('scard', users[1])
