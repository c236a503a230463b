local n=redis.call('ZCARD',KEYS[1])
redis.call('ZADD',KEYS[1],ARGV[1],ARGV[2])
if n<tonumber(ARGV[3]) then
  return 1
end
redis.call('ZREMRANGEBYRANK',KEYS[1],0,0)
redis.call('EXPIRE',KEYS[1],ARGV[4])
return 0
