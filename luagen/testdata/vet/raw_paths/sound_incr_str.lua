local c=tonumber(redis.call('GET',KEYS[1]) or '0')
if c>=tonumber(ARGV[1]) then return 0 end
redis.call('INCR',KEYS[1])
if c==0 then redis.call('EXPIRE',KEYS[1],60) end
local n=math.floor(redis.call('GET',KEYS[2]) or 0)
redis.call('INCR',KEYS[2])
if n<1 then redis.call('EXPIRE',KEYS[2],60) end
return 1
