---@key a string
---@key b string
---@arg lease milliseconds
redis.call('set', a, 1, 'nx')
redis.call('set', b, 1, 'px', lease)
redis.call('pexpire', a, lease)
