local ttl = tonumber(ARGV[2])
if redis.call('set', KEYS[1], ARGV[1], 'NX') then
  if ttl <= 0 then
    return 1
  end
  redis.call('expire', KEYS[1], ttl)
  return 1
end
return 0
