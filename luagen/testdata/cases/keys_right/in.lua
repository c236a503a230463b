--- The shapes that a key may take on its way to a command.
---@key lock hash
---@key side string prefix
---@key token string
---@key queues list...
---@arg name string
---@arg n int
local alias = lock
local again = (alias)
redis.call('hset', again, name, 1)
redis.call('set', side .. ':' .. name .. n, 1)
redis.call('set', side, 1)
redis.call('get', (side .. 'x'))
redis.call('del', lock, token, unpack(queues))
redis.call('del', unpack(queues))
for _, queue in ipairs(queues) do redis.call('rpush', queue, name) end
for i = 1, #queues do redis.call('rpush', queues[i], name) end
local function helper(key, value) redis.call('set', key, value) end
helper(token, name)
helper(side .. name, name)
local function deeper(key) helper(key, 1) end
deeper(token)
local function recursive(key, depth) if depth > 0 then recursive(key, depth - 1) end helper(key, depth) end
recursive(token, 2)
local function key_of(x) return side .. ':' .. x end
redis.call('get', key_of(name))
local base = side .. 'a'
redis.call('get', base .. name)
local chosen
if name == 'x' then chosen = token else chosen = side .. 'x' end
redis.call('get', chosen)
redis.call('get', name == 'x' and token or side)
local all, some = {lock, token}, {}
for _, queue in ipairs(queues) do some[#some + 1] = queue end
table.insert(some, token)
redis.call('del', unpack(all))
redis.call('del', unpack(some))
for _, key in pairs({lock, token}) do redis.call('pexpire', key, n) end
redis.call('sort', queues[1], 'by', 'nosort')
local path = side
for i = 1, n do path = path .. ':' .. i end
redis.call('get', path)
