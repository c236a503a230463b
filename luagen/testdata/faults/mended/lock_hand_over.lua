-- Gives the lock to another token and tells how long it still lives.
local ttl = 0
if redis.call('get', KEYS[1]) == ARGV[1] then
  ttl = redis.call('pttl', KEYS[1])
  redis.call('set', KEYS[1], ARGV[2], 'KEEPTTL')
end
return ttl
