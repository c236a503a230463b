---@key lock hash
---@key log list
---@include writes.lua
---@channel released
---@readonly
redis.call('hset', lock, 'a', 1)
redis.call('publish', released, 'x')
log_it(log)
return redis.call('sort', log)
