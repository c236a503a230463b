-- The same, asked on each way, or where one field stands for the others; and what is written on one way and found on another.
local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('hmget', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(bucket[1]), tonumber(bucket[2])
if tokens == nil then
  tokens = most
  at = now
end
local passed, fresh = now - at, false
if not redis.call('get', KEYS[2]) then
  redis.call('set', KEYS[2], 0)
  fresh = true
end
tokens = tokens + redis.call('get', KEYS[2])
local left = tonumber(redis.call('get', KEYS[4]))
if left then fresh = false end
if fresh then return {0, passed} end
if redis.call('exists', KEYS[3]) == 1 then tokens = tokens + redis.call('get', KEYS[3]) end
if ARGV[3] == 'take' and not redis.call('get', KEYS[5]) then return {0, passed} end
if ARGV[3] == 'take' then tokens = tokens - redis.call('get', KEYS[5]) end
return {1, tokens, tonumber(bucket[1]) or 0, most}
