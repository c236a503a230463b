--- Names that the wrapper needs itself get another spelling in Go.
---@key r string
---@arg err string
---@arg len int
---@arg time milliseconds
---@return string err
return redis.call('set', r, err .. len .. time)
