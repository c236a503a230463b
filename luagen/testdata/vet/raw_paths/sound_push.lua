local n = redis.call('rpush', KEYS[1], ARGV[1])
if n == 1 then
  redis.call('expire', KEYS[1], ARGV[2])
elseif n > 5 then
  redis.call('ltrim', KEYS[1], -5, -1)
  redis.call('expire', KEYS[1], ARGV[2])
end
return n
