local limit = tonumber(ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0)
  redis.call('ZREM', KEYS[1], oldest[1])
  redis.call('HDEL', KEYS[2], oldest[1])
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
return 1
