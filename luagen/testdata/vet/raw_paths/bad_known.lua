if redis.call('SISMEMBER',KEYS[2],ARGV[1])==1 then
  redis.call('INCR',KEYS[1])
  return 0
end
redis.call('INCR',KEYS[1])
redis.call('EXPIRE',KEYS[1],60)
return 1
