local ttl = tonumber(ARGV[2])
local n = redis.call('incrby', KEYS[1], ARGV[1])
if n == tonumber(ARGV[1]) then
  if ttl > 0 then
    redis.call('pexpire', KEYS[1], ARGV[2])
  end
  return {n, ttl}
end
ttl = redis.call('pttl', KEYS[1])
return {n, ttl}
