---@key lock hash
---@key token string
---@arg owner string
---@arg lease milliseconds
---@return int fence
redis.call('hincrby', lock, owner, 1)
local fence = redis.call('incr', token)
redis.call('pexpire', lock, lease)
return fence
