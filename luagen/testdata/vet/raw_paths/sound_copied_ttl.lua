if redis.call('incrby', KEYS[1], ARGV[1]) < 1 then
  return 0
end
redis.call('zadd', KEYS[2], ARGV[2], ARGV[3])
local ttl = redis.call('pttl', KEYS[1])
if ttl > 0 then
  redis.call('pexpire', KEYS[2], ttl)
end
return 1
