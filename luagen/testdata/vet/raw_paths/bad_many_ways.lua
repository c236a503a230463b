if redis.call('hget', KEYS[1], 'at') == false then
  redis.call('hset', KEYS[1], 'at', ARGV[1])
  return 0
end
if redis.call('hget', KEYS[1], 'f2') == 'x' and ARGV[2] == 'y' then
  redis.call('hset', KEYS[1], 'f2', 'y')
end
if redis.call('hget', KEYS[1], 'f3') == 'x' and ARGV[3] == 'y' then
  redis.call('hset', KEYS[1], 'f3', 'y')
end
if redis.call('hget', KEYS[1], 'f4') == 'x' and ARGV[4] == 'y' then
  redis.call('hset', KEYS[1], 'f4', 'y')
end
if redis.call('hget', KEYS[1], 'f5') == 'x' and ARGV[5] == 'y' then
  redis.call('hset', KEYS[1], 'f5', 'y')
end
if redis.call('hget', KEYS[1], 'f6') == 'x' and ARGV[6] == 'y' then
  redis.call('hset', KEYS[1], 'f6', 'y')
end
if redis.call('hget', KEYS[1], 'f7') == 'x' and ARGV[7] == 'y' then
  redis.call('hset', KEYS[1], 'f7', 'y')
end
if redis.call('hget', KEYS[1], 'f8') == 'x' and ARGV[8] == 'y' then
  redis.call('hset', KEYS[1], 'f8', 'y')
end
if redis.call('hget', KEYS[1], 'f9') == 'x' and ARGV[9] == 'y' then
  redis.call('hset', KEYS[1], 'f9', 'y')
end
redis.call('hset', KEYS[1], 'at', ARGV[1])
redis.call('expire', KEYS[1], 60)
return 1
