---@key lock string
---@key line list
---@arg lease milliseconds
---@since redis 5.0, valkey 7.2
redis.call('set', lock, 1, 'px', lease, 'nx')
redis.call('lmove', line, line, 'left', 'right')
redis.call('getex', lock, 'persist')
