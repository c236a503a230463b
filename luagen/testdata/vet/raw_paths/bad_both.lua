local n, ttl = redis.call('incrby', KEYS[1], 1), tonumber(ARGV[1])
if not (ttl > 0 and n > 1) then
  return n
end
return redis.call('expire', KEYS[1], ttl)
