---@key lock hash
---@key side string prefix
---@key queues list...
---@arg name string
---@channel released
---@arg ids string...
redis.call('hgetall', name)
redis.call('set', lock .. ':x', 1)
redis.call('set', 'x' .. side, 1)
redis.call('set', name .. side .. name, 1)
redis.call('del', lock, name, side)
redis.call('del', unpack(ids))
redis.call('get', ids[1])
redis.call('get', released)
redis.call('get', redis.call('get', side))
redis.call('get', tostring(lock))
for i, queue in ipairs(queues) do redis.call('rpush', i, queue) end
for _, id in ipairs(ids) do redis.call('get', id) end
local alias = lock
alias = name
redis.call('hgetall', alias)
local function get(k, v) redis.call('set', k, v) end
get(side, name)
get(name, side)
local function escapes(k) redis.call('get', k) end
escapes(side)
pcall(escapes, side)
local list = {lock, name}
redis.call('hgetall', list[1])
local function pick() if name then return lock end return name end
redis.call('hgetall', pick())
redis.call('zunionstore', lock, 2, lock, name)
redis.call('xread', 'count', 1, 'streams', lock, name, 0, 0)
redis.call('blmove', queues[1], name, 'left', 'right', 0)
redis.call('set', name and side or name, 1)
redis.call('mset', side, 1, name, 2)
local never
redis.call('get', never)
local grown = lock
grown = grown .. 'x'
redis.call('hgetall', grown)
local one, two
one, two = two, one
redis.call('get', one)
redis.call('get', (side))
redis.call('get', ('x'))
