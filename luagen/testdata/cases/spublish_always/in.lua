---@key locks hash...
---@channel released
---@channel turn prefix
redis.call('del', locks[1])
redis.call('spublish', released, '0')
redis.call('spublish', turn .. ':1', '0')
