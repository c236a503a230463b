---@key lock string
---@arg n int(0..9)
local call = redis.call
if n == '1' then call = redis.pcall end
call('get', 'foo' .. lock)
