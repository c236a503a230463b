redis.call('HSET',KEYS[1],'a',1)
if redis.call('EXISTS',KEYS[3])==1 then return redis.call('EXPIRE',KEYS[1],60) end
redis.call('HSET',KEYS[2],'a',1)
for _,k in ipairs(KEYS) do redis.call('EXPIRE',k,60) end
