redis.call('HSET',KEYS[1],'status','failed')
if redis.call('HINCRBY',KEYS[1],'attempts',1)>=tonumber(ARGV[1]) then
  redis.call('EXPIRE',KEYS[1],86400)
  return 'dead'
end
redis.call('ZADD',KEYS[2],ARGV[2],ARGV[3])
return 'retry' 
