local left = nil
if ARGV[1] == 'all' then
  left = redis.call('pttl', KEYS[1])
end
if left then
  return redis.call('expire', KEYS[2], left)
end
return 0
