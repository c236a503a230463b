local limit = redis.call('get', KEYS[2])
local n = redis.call('incr', KEYS[1])
if n == 1 then
  redis.call('pexpire', KEYS[2], ARGV[1])
end
return {n, limit}
