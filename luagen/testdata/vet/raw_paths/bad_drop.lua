local v=redis.call('GET',KEYS[1])
if v then
  redis.call('SET',KEYS[1],v+1)
  return v+1
end
redis.call('SET',KEYS[1],1,'EX',ARGV[1])
return 1
