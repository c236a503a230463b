---@key lock hash
---@arg owner string
---@return int held
local n = redis.call('hget', lock, owner)
if not n then
  return
end
if n == '1' then
  return nil
elseif n == '2' then
  redis.call('hdel', lock, owner)
  return false
elseif n == '3' then
  return redis.call('del', lock)
end
