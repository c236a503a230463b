---@key counter string
---@flag
---@flag allow-ooms
---@flag allow-oom allow-oom
---@flag allow-oom
---@flag no-writes
---@since redis 6.2, valkey 8.0, embedded
redis.call('incr', counter)
