--- redis.call by another name is followed, and so is its library.
---@key lock hash
---@arg owner string
---@return int? count
local call, server = redis.call, redis
local get = call
if call('hexists', lock, owner) == 1 then
  server.call('hincrby', lock, owner, 1)
end
return get('hget', lock, owner)
