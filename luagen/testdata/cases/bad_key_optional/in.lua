---@key lock hash?
---@key side string? prefix
---@key note string?
---@key all list...
---@return int n
redis.call('set', note, 1)
return redis.call('hlen', lock) + #all + #redis.call('get', side .. '1')
