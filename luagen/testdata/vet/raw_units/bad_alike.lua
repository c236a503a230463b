local ttl, orderTTL = tonumber(ARGV[1]), tonumber(ARGV[2] or '0')
redis.call('psetex', KEYS[1], ttl, ARGV[3])
if orderTTL > 0 then
  redis.call('setex', KEYS[2], orderTTL, ARGV[3])
end
local full = math.ceil(ARGV[4] / ARGV[5])
if full > 0 then
  redis.call('set', KEYS[3], 'v', 'ex', full)
  redis.call('set', KEYS[4], 'v', 'px', full)
end
return 1
