---@key lock hash
---@readonly
---@return int count
---@return string[] owners
---@return float score
---@return int[] ends
if redis.call('hlen', lock) == 0 then
  return {redis.call('hkeys', lock), redis.call('hlen', lock), 0, {'1', {}}}
end
return {redis.status_reply('OK'), 'none', redis.call('hgetall', lock), redis.call('time')}
