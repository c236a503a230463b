---@key lock list
redis.call('sort', lock, 'by', 'w_*', 'get', 'o_*')
