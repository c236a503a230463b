if tonumber(ARGV[2])>0 then
  redis.call('SET',KEYS[1],ARGV[1],'EX',ARGV[2])
else
  redis.call('SET',KEYS[1],ARGV[1])
end
