local s=tonumber(redis.call('HGET',KEYS[1],'s') or '0')
if tonumber(ARGV[1])-s>=tonumber(ARGV[2]) then
  redis.call('HSET',KEYS[1],'s',ARGV[1],'n',1)
  redis.call('PEXPIRE',KEYS[1],ARGV[2])
  return 1
end
return redis.call('HINCRBY',KEYS[1],'n',1)
