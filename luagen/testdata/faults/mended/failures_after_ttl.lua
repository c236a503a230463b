local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then
  return ttl
end
local failures = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0')
if failures >= tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], 1, 'PX', ARGV[3])
end
return 0
