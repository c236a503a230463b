if redis.call('zcard', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('zadd', KEYS[1], ARGV[2], ARGV[3])
  return 0
end
return redis.call('expiretime', KEYS[1])
