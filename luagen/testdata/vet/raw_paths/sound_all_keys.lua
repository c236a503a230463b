redis.call('HSET',KEYS[1],'a',1)
redis.call('HSET',KEYS[2],'a',1)
for _,k in ipairs(KEYS) do redis.call('EXPIRE',k,60) end
