--- Takes tokens from a bucket if there are enough in it. A bucket starts full and fills evenly; one
--- that is full again is forgotten.
---
---@key bucket hash level: int, at: unixmilli   thousandths of tokens, at that time
---@arg capacity int(1..1000000)   tokens that the bucket holds
---@arg rate int(1..1000000)       tokens that come back in a second
---@arg want int(1..1000000)       tokens to take
---@return bool taken
---@return int(0..1000000) left    whole tokens that are left
---@return milliseconds wait       until there are enough; 0 if they were taken
---@error TOOMANY more tokens than the bucket holds
---@since redis 7.0, valkey 8.0, embedded
local full, need = capacity * 1000, want * 1000
if need > full then
  return redis.error_reply('TOOMANY the bucket is too small')
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local state = redis.call('hmget', bucket, 'level', 'at')
local level = tonumber(state[1]) or full
-- The clock of another server may be behind.
local passed = math.max(0, now - (tonumber(state[2]) or now))
level = math.min(full, level + passed * rate)
if level < need then
  return {0, math.floor(level / 1000), math.ceil((need - level) / rate)}
end
level = level - need
redis.call('hset', bucket, 'level', level, 'at', now)
redis.call('pexpire', bucket, math.ceil((full - level) / rate))
return {1, math.floor(level / 1000), 0}
