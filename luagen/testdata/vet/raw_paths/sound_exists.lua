if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], ARGV[1], 1)
  redis.call('expire', KEYS[1], ARGV[2])
  return 1
end
if redis.call('exists', KEYS[2]) == 1 then
  redis.call('expire', KEYS[2], ARGV[2])
else
  redis.call('set', KEYS[2], 1, 'EX', ARGV[2])
end
redis.call('set', KEYS[3], 1)
if redis.call('exists', KEYS[3]) == 1 then
  redis.call('expire', KEYS[3], ARGV[2])
end
return redis.call('hincrby', KEYS[1], ARGV[1], 1)
