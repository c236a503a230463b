---@key user hash
---@arg limit int(1..9)?
---@return string?[] fields
---@return bool[] flags
---@readonly
return {{limit, redis.call('hget', user, 'name')}, {nil, 1}}
