---@key counter string
---@key counts hash
---@arg limit int
---@arg force bool
---@return bool done
local n = redis.call('get', counter)
if n and n < 5 then return 0 end
if n and 5 < n then return 0 end
if n == 5 then return 0 end
if redis.call('hget', counts, 'n') ~= 1 then return 0 end
if redis.call('llen', 'x') == '0' then return 0 end ---@allow key the key is not the point
if redis.call('exists', counter) == true then return 0 end
if redis.call('type', counter) == 'string' then return 0 end
if force == '1' then return 0 end
if limit > redis.call('hlen', counts) then return 0 end
if redis.call('set', counter, 1) == 'OK' then return 0 end
if redis.call('set', counter, 1, 'nx') == nil then return 0 end
local two = redis.call('hmget', counts, 'a', 'b')
if two[2] == 2 then return 0 end
if type(n) == 'string' and n >= 1 then return 0 end
return 1
