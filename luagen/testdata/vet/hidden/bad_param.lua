---@key lock string
local function run(f) return f('get', 'foo' .. lock) end
run(redis.call)
