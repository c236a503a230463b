local bucket = redis.call('HMGET', KEYS[1], 'updatedAt', 'tokens')
if bucket[1] == false then
  local remaining = tonumber(ARGV[1]) - 1
  redis.call('HSET', KEYS[1], 'updatedAt', ARGV[2], 'tokens', remaining)
  return remaining
end
local tokens = tonumber(bucket[2] or '0')
if tokens < 1 then
  return -1
end
redis.call('HSET', KEYS[1], 'updatedAt', ARGV[2], 'tokens', tokens - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return tokens - 1
