--- Sets in spite of a full memory, so it is no plain command.
---@key counter string
---@flag allow-oom
---@arg delta int
---@retry safe
return redis.call('set', counter, delta)
