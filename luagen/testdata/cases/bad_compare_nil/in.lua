---@readonly
---@key counter string
---@key counts hash
---@arg field string
---@return bool done
if redis.call('get', counter) == nil then return 0 end
local n = redis.call('hget', counts, field)
if n ~= nil then return 0 end
local two = redis.call('hmget', counts, 'a', field)
if two[1] == nil or nil == two[2] then return 0 end
if redis.call('zscore', counts, field) == nil then return 0 end ---@allow kind not the point
if (redis.call('get', counter) or redis.call('hget', counts, 'x')) == nil then return 0 end
return 1
