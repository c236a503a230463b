local running = tonumber(redis.call('get', KEYS[1])) or 0
if running < tonumber(ARGV[1]) then
  redis.call('incr', KEYS[1])
  redis.call('hincrby', KEYS[2], ARGV[2], 1) redis.call('expire', KEYS[1], 3600) redis.call('expire', KEYS[2], 3600)
  return 1
end
return 0
