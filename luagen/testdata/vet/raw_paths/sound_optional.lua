local ttl = tonumber(ARGV[2])
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  if ttl > 0 then
    redis.call('expire', KEYS[1], ttl)
  end
  return 1
end
return 0
