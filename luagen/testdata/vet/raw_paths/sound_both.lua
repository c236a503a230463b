local n, ttl = redis.call('incrby', KEYS[1], 1), tonumber(ARGV[1])
if n == 1 and ttl > 0 then
  redis.call('expire', KEYS[1], ttl)
end
return n
