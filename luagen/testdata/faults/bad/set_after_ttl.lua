local current = redis.call('GET', KEYS[1])
local spent = tonumber(current or 0) + tonumber(ARGV[1])
redis.call('SET', KEYS[1], spent)
local ttl = redis.call('TTL', KEYS[1])
if ttl < 0 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return spent
