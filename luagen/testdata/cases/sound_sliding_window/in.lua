--- Allows limit calls in any interval, by a sorted set of them.
---@key calls zset
---@arg id string
---@arg limit int(1..100000)
---@arg interval milliseconds
---@return bool allowed
---@return int(0..100000) left
---@since redis 7.0, valkey 8.0
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', calls, '-inf', '(' .. now - interval)
local n = redis.call('ZCARD', calls)
if n >= tonumber(limit) then
  return {0, 0}
end
redis.call('ZADD', calls, now, id)
redis.call('PEXPIRE', calls, interval)
return {1, limit - n - 1}
