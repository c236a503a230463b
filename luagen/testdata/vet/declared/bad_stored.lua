---@key k list
---@return int n
return redis.call('sort', k, 'STORE', 'other')
