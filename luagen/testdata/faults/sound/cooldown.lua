local left = redis.call('PTTL', KEYS[1])
if left > 0 then
  return left
end
local failures = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0') + 1
redis.call('HSET', KEYS[2], ARGV[1], failures)
redis.call('EXPIRE', KEYS[2], 86400)
if failures >= tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], failures, 'PX', ARGV[3])
end
return 0
