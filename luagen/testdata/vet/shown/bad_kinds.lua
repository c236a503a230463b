---@key a hash
---@key b hash
---@key c string
---@arg v string
---@arg lease milliseconds
if v ~= '' then
  redis.call('hgetall', b)
end
redis.pcall('get', c)
redis.call('hset', a, 'f', v)
redis.call('hset', b, 'f', v)
redis.call('pexpire', a, lease)
redis.call('hset', a, 'g', v)
redis.call('get', c)
redis.call('pexpire', a, lease)
redis.call('hset', b, 'f', 1)
redis.call('incr', c)
redis.call('pexpire', b, lease)
