---@key lock string
---@key fields hash
---@key stats hash
---@arg lease milliseconds?
---@arg fair bool
---@arg mode string
---@return int at
---@return int? rate
---@return int n
redis.call('hset', fields, 'fair', fair)
if mode == 'once' then
  redis.call('set', lock, mode, 'PX', lease)
end
local left = redis.call('pttl', lock) + lease
local state = redis.call('hmget', stats, 'at', 'rate')
return {tonumber(state[1]), tonumber(state[2]), left}
