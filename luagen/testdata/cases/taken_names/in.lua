--- Names that the wrapper needs itself, and words of Go, get another spelling in Go. A name may hide a function of Lua.
---@key r string
---@arg err string
---@arg len int
---@arg time milliseconds
---@arg type string
---@arg next string
---@return string err
return redis.call('set', r, err .. len .. time .. type .. next)
