---@key lock hash
---@arg lease milliseconds?
---@return int? held
---@return milliseconds? wait
---@return int? token
local n = redis.call('hget', lock, 'n')
local wait, token
if n then
  return {n, lease, 0}
end
if redis.call('hlen', lock) == 0 then
  wait = 5
end
redis.call('hset', lock, 'n', 1)
return {nil, wait, token}
