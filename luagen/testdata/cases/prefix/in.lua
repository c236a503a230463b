--- Writes keys of its own.
---@key side string prefix  one key for each hold
---@arg n int
redis.call('set', side .. ':' .. n, 1)
