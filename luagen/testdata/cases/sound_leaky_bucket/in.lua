--- A bucket that leaks evenly, as a hash.
---@key bucket hash
---@arg capacity int(1..1000000)
---@arg rate int(1..1000000)    drops that leave it in a second
---@arg now unixmilli
---@return bool fits
---@return float level
local state = redis.call('hmget', bucket, 'level', 'at')
local level = tonumber(state[1]) or 0
local at = tonumber(state[2]) or tonumber(now)
level = math.max(0, level - (now - at) * rate / 1000)
local fits = level + 1 <= tonumber(capacity)
if fits then
  level = level + 1
end
redis.call('hset', bucket, 'level', tostring(level), 'at', now)
redis.call('expire', bucket, math.ceil(capacity / rate) + 1)
return {fits and 1 or 0, tostring(level)}
