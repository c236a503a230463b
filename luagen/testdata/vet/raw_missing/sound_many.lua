-- More ways than are followed: where they join, each field is there by what its own way has asked.
local other = KEYS[2]
local max = tonumber(ARGV[1])
local limit = max
if other and other ~= '' then
  local set = redis.call('get', other)
  if set then limit = tonumber(set) end
end
local bucket = redis.call('hmget', KEYS[1], 'at', 'tokens')
local at
local tokens
if bucket[1] == false then
  at = tonumber(ARGV[2])
  tokens = limit
else
  at = tonumber(bucket[1])
  tokens = tonumber(bucket[2])
end
if tonumber(ARGV[2]) >= at + 60 then tokens = limit end
return {tokens - 1, at + 60}
