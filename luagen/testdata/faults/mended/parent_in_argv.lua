if redis.call('EXISTS', KEYS[2]) == 0 then
  return -5
end
redis.call('RPUSH', KEYS[1], ARGV[1])
return 1
