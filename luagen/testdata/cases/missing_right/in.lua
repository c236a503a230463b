--- What may be absent or missing, to be on the safe side.
---@key lock string
---@key fields hash
---@key stats hash
---@arg lease milliseconds?
---@arg fair bool
---@return int at
---@return int? rate
---@return int n
redis.call('hset', fields, 'fair', fair and 1 or 0)
if lease then
  redis.call('set', lock, '', 'PX', lease)
else
  redis.call('set', lock, '')
end
local left = redis.call('pttl', lock) + (lease or 0)
local state = redis.call('hmget', stats, 'at', 'rate')
return {tonumber(state[1]) or 0, tonumber(state[2]) or false, left}
