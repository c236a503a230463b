if ARGV[1]=='a' then
  redis.call('ZADD',KEYS[1],1,ARGV[2])
else
  redis.call('ZADD',KEYS[1],2,ARGV[2])
  redis.call('EXPIRE',KEYS[1],60)
end
