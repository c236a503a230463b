-- A SET drops the time to live that the script has asked for.
local ttl = 0
if redis.call('get', KEYS[1]) == ARGV[1] then
  ttl = redis.call('pttl', KEYS[1])
  redis.call('set', KEYS[1], ARGV[2])
end
return ttl
