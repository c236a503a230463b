--- Counts and limits are far from 2^53.
---@key used hash
---@key waiting zset
---@arg limit int(1..1000000)
---@arg permits int(1..1000)
---@arg most int
---@return bool granted
---@return int left
local count = tonumber(redis.call('hget', used, 'count') or 0)
local left = limit - count - permits
if left < 0 or redis.call('zcard', waiting) >= tonumber(most) then
  return {0, limit - count}
end
redis.call('hset', used, 'count', count + permits, 'text', 'of ' .. limit - count)
redis.call('hincrby', used, 'grants', 1)
return {1, left}
