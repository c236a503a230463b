local n = redis.call('INCR', KEYS[1])
local ex = KEYS[2]
if n == 1 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  redis.call('SET', ex, ARGV[2], 'PX', ARGV[1])
end
return {n, redis.call('GET', ex)}
