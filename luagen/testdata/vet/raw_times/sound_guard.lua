local a, b, c, d = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if a and a > 0 then
  redis.call('expire', KEYS[1], a)
end
if b <= 0 then
  return redis.error_reply('ERR no expiry')
end
if b then
  redis.call('expire', KEYS[2], b)
end
if redis.call('set', KEYS[3], 'v', 'nx', 'ex', c) then
  redis.call('expire', KEYS[3], c)
end
local e, f = tonumber(ARGV[5]), tonumber(ARGV[6])
if e <= 0 or f < 1 then
  return 0
end
if e then
  redis.call('expire', KEYS[2], e)
end
if f >= 0 then
  redis.call('expire', KEYS[2], f)
end
local g, left = tonumber(ARGV[7]), redis.call('hlen', KEYS[5])
assert(g > 0 and left > 0)
if g > 0 and left > 0 then
  redis.call('incr', KEYS[6])
end
redis.call('expire', KEYS[6], g)
redis.call('expire', KEYS[5], left)
if not d then
  return 0
end
return redis.call('expire', KEYS[4], d)
