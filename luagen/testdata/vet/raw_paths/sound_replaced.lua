local n = redis.call('incr', KEYS[1])
if n == 1 then
  redis.call('set', KEYS[1], 1, 'EX', ARGV[1])
else
  redis.call('expire', KEYS[1], ARGV[1])
end
if redis.call('setnx', KEYS[2], ARGV[2]) == 1 then
  redis.call('setex', KEYS[2], ARGV[1], ARGV[2])
else
  redis.call('expire', KEYS[2], ARGV[1])
end
return n
