local n=redis.call('INCR',KEYS[1])
if n==1 then redis.call('EXPIRE',KEYS[1],60) end
if n>tonumber(ARGV[1]) then redis.call('SET',KEYS[1],0) end
return n
