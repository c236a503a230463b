redis.call('sadd', KEYS[1], ARGV[1])
if redis.call('scard', KEYS[1]) == 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
redis.call('hset', KEYS[2], 'owner', ARGV[1])
local new = redis.call('exists', KEYS[2]) ~= 0
return new and 1 or 0
