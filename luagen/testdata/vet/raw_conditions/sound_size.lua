redis.call('zadd', KEYS[1], 'XX', 1, ARGV[1])
if redis.call('zcard', KEYS[1]) == 0 then
  return 0
end
redis.call('sadd', KEYS[2], ARGV[1])
redis.call('srem', KEYS[2], ARGV[2])
if redis.call('scard', KEYS[2]) == 0 then
  return 1
end
redis.pcall('rpush', KEYS[3], ARGV[1])
if redis.call('llen', KEYS[3]) == 0 then
  return 2
end
redis.call('rpush', KEYS[4], ARGV[1])
for _, key in ipairs(KEYS) do
  redis.call('lpop', key)
end
return redis.call('llen', KEYS[4]) == 0 and 3 or 4
