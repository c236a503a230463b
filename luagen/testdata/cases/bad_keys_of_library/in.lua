---@key lock hash
---@key side string prefix
---@arg name string
---@include keys.lua
---@include more.lua
drop(name)
redis.call('set', key_of(name, side), 1)
deep(name, 3)
redis.call('del', first({lock, name}))
again(name, lock)
again(lock)
again(lock, lock .. 'x')
redis.call('del', side)
redis.call('set', side, bad(name))
