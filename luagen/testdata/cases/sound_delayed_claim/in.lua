--- Claims one due job: it is due again when its lease ends, unless it is finished.
---@key delayed zset
---@key jobs hash
---@arg lease milliseconds
---@return string? id
---@return bytes? payload
---@since redis 7.0, valkey 8.0
local t = redis.call('time')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local first = redis.call('zrangebyscore', delayed, 0, now, 'limit', 0, 1)[1]
if not first then
  return {false, false}
end
redis.call('zadd', delayed, 'xx', now + lease, first)
return {first, redis.call('hget', jobs, first)}
