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
if not d then
  return 0
end
return redis.call('expire', KEYS[4], d)
