local function save(k,v) redis.call('SET',k,v) redis.call('EXPIRE',k,60) end
if redis.call('GET',KEYS[2]) then save(KEYS[1],1) return 1 end
redis.call('HSET',KEYS[3],'a',1)
save(KEYS[1],2)
return 2
