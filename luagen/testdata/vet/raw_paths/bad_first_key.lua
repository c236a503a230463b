for i=1,#KEYS do
  local key=KEYS[i]
  redis.call('HSET',key,'a',ARGV[1])
  if i==1 then redis.call('EXPIRE',key,60) end
end
