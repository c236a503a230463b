if redis.call('setnx', KEYS[1], ARGV[1]) == 0 then
  redis.call('set', KEYS[1], ARGV[1])
end
redis.call('expire', KEYS[1], 60)
redis.call('touch', KEYS[2])
if redis.call('set', KEYS[2], ARGV[1]) then
  redis.call('expire', KEYS[2], 60)
end
