if ARGV[1]=='create' then
  redis.call('HSET',KEYS[1],'v',ARGV[2])
  redis.call('EXPIRE',KEYS[1],60)
elseif ARGV[1]=='count' then
  redis.call('HINCRBY',KEYS[1],'n',1)
end
