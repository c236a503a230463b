---@key lock hash
---@key side string prefix
---@include keys.lua
---@include more.lua
local function both(key) drop(key) end
both(lock)
redis.call('set', key_of(side, 1), 1)
deep(lock, 3)
redis.call('del', first({lock, side}))
return again(key_of(side, 'x'), lock)
