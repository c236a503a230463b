local key = KEYS[1]
redis.call('xack', KEYS[1], 'workers', ARGV[1])
if redis.call('hexists', KEYS[2], ARGV[1]) == 1 then
  redis.call('zadd', key, 1, ARGV[2])
end
return 1
