---@key locks hash...
---@flag allow-oom
--- 
---@flag allow-cross-slot-keys
---@arg owner string
(redis).call('hdel', locks[1], owner)
