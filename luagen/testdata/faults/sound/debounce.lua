local waiting = redis.call('ZSCORE', KEYS[1], ARGV[1])
if waiting and tonumber(waiting) > tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 1
