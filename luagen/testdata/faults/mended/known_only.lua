local known = redis.call('EXISTS', KEYS[1])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
if known == 0 then
  redis.call('EXPIRE', KEYS[1], 15000)
end
return known
