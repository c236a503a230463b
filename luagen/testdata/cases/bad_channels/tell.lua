---@library
local function tell(channel) redis.call('publish', channel, '1') end
