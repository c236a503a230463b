---@key lock hash
---@arg owner string
---@return bool held
---@return int count
if redis.call('hexists', lock, owner) == 1 then
  return {1, redis.call('hincrby', lock, owner, 1)}
elseif redis.call('hlen', lock) == 0 then
  return {0}
elseif redis.call('hlen', lock) == 1 then
  return 0
end
for _ = 1, 3 do
  if redis.call('hlen', lock) == 2 then return {0, 0, 0} end
end
