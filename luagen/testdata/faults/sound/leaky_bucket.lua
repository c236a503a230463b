local bucket = redis.call('HMGET', KEYS[1], 'level', 'at')
local now, leak, capacity = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local level = tonumber(bucket[1] or '0')
local at = tonumber(bucket[2] or ARGV[1])
level = math.max(0, level - (now - at) * leak)
if level + 1 > capacity then
  return {0, tostring(level)}
end
level = level + 1
redis.call('HSET', KEYS[1], 'level', level, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / leak) + 1)
return {1, tostring(level)}
