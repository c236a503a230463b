---@key lock string
---@arg n int(0..9)
local call = n == '1' and redis.call or redis.pcall
call('get', 'foo' .. lock)
