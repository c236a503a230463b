if redis.call('INCR',KEYS[2])>5 then
  redis.call('SET',KEYS[1],'open','EX',ARGV[1])
else
  redis.call('SET',KEYS[1],'closed')
end
