if redis.call('HSETNX',KEYS[1],ARGV[1],1)==0 then
  redis.call('EXPIRE',KEYS[1],60)
  return 0
end
return 1
