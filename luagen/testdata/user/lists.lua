--- Takes lists.
---@key counter list
---@key locks hash...
---@arg n int
---@arg owners bytes... per locks
---@arg ids int(0..9)...
---@arg flags bool... per ids
return redis.call('rpush', counter, n, #locks, #owners, #ids, #flags)
