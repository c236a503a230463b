local now = tonumber(ARGV[1])
redis.call('zremrangebyscore', KEYS[1], '-inf', now)
if redis.call('zscore', KEYS[1], ARGV[3]) or redis.call('zcard', KEYS[1]) < tonumber(ARGV[4]) then
  redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[3])
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0
