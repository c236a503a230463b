-- What a condition shows holds on its way alone, and of what it asks about.
local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('hmget', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(bucket[1]), tonumber(bucket[2])
if bucket == nil then at = now end
local passed = now - at
if tokens == nil then tokens = most end
if tokens >= most then tokens = tokens - 1 end
redis.call('hset', KEYS[1], 'was', tonumber(bucket[1]), 'passed', passed)
local total = tonumber(redis.call('hget', KEYS[2], 'total'))
if total and total >= most then return {0} end
local n = tonumber(redis.call('hget', KEYS[2], ARGV[3]))
if n >= most then return {0} end
if redis.call('exists', KEYS[3]) == 1 then redis.call('incr', KEYS[4]) end
return tokens + tonumber(redis.call('get', KEYS[3]))
