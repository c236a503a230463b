local new = redis.call('PFADD', KEYS[1], ARGV[1])
if new == 1 then
  redis.call('EXPIRE', KEYS[1], 172800)
end
return redis.call('PFCOUNT', KEYS[1])
