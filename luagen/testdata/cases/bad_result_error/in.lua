---@key lock hash
---@error NOTOWNER another holds it
---@error GONE
local code = 'GONE'
if redis.call('hlen', lock) == 0 then return redis.error_reply(code) end
if redis.call('hlen', lock) == 1 then return redis.error_reply('-NOTOWNER') end
redis.call('del', lock)
return redis.error_reply('NOTOWNER')
