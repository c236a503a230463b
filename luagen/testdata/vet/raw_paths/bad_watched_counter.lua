if redis.call('zcard', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('zadd', KEYS[1], ARGV[2], ARGV[3])
  redis.call('expire', KEYS[1], 60)
  return 1
end
local used = tonumber(redis.call('get', KEYS[2]) or 0)
if used < tonumber(ARGV[4]) then
  redis.call('incr', KEYS[2])
  return 1
end
return 0
