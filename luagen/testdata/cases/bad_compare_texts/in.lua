---@readonly
---@key counter string
---@arg limit int
---@arg score float
---@return bool done
local n = redis.call('get', counter)
if not n then return 0 end
if n >= limit then return 0 end
if redis.call('get', counter) < n then return 0 end
if score <= n or n > '10' then return 0 end
return 1
