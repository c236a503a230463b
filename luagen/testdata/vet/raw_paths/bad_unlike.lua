-- A counter next to one that expires, a lock next to another, and a hash where the other keys expire.
if ARGV[1] == 'count' then
  redis.call('incr', KEYS[1])
  redis.call('incr', KEYS[2])
  redis.call('expire', KEYS[2], 86400)
else
  redis.call('set', KEYS[3], ARGV[2])
  redis.call('set', KEYS[4], ARGV[2], 'ex', 60)
end
return 1
