---@library
local function tell(channel) redis.call('SPublish', channel, '1') end
