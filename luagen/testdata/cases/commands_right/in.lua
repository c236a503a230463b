--- Aliases, both forms of a protected call, many values, and names chosen from a set.
---@key lock hash
---@key locks hash...
---@arg owner string
---@command publish publish|spublish
---@channel released
---@arg fields string...
local call, r = redis.call, redis
local server = r
call('HSET', lock, owner, 1)
server.pcall('hset', lock, unpack(fields))
pcall(redis.call, 'hdel', lock, owner)
local ok, err = pcall(call, 'hdel', lock, owner)
local time = call('time')
call('xgroup', 'create', locks[1], owner, 0) ---@allow kind the key is what the test makes it
call(publish, released, time[1])
local name = #owner > 3 and 'hget' or 'hexists'
r.call(name, lock, owner)
return ok or err
