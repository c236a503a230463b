---@key lock hash
---@arg owner string
redis.call('hste', lock, owner, 1)
redis.call('hset', lock, owner)
redis.pcall('hdel', lock)
redis.call('del')
redis.call('hget', lock, owner, 1)
redis.call('subscribe', owner)
redis.call('xgroup', 'crate', lock, owner, 0)
redis.call('blpop', lock, 0)
redis.call('frobnicate', lock)
redis.call('json.set', lock, owner, 1)
redis.call('waitaof', 0, 1, 10)
redis.call(owner, lock)
redis.call('h' .. 'set', lock, owner, 1)
redis.call()
local call, r = redis.call, redis
call('hdle', lock, owner)
r.call('hsett', lock, owner, 1)
pcall(redis.call, 'hmsett', lock, owner, 1)
local name = owner and 'hget' or 'hgett'
call(name, lock, owner)
