redis.call('ZADD',KEYS[1],ARGV[1],ARGV[2])
if redis.call('ZRANK',KEYS[1],ARGV[2])>=tonumber(ARGV[3]) then
  redis.call('ZREM',KEYS[1],ARGV[2])
  return 0
end
redis.call('EXPIRE',KEYS[1],60)
return 1
