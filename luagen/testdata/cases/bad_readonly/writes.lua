---@library
local function log_it(log) redis.call('rpush', log, 'x') end
