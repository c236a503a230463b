local t=redis.call('TYPE',KEYS[1]).ok
if t=='none' then redis.call('HSET',KEYS[1],'a',1) redis.call('EXPIRE',KEYS[1],60) else redis.call('HSET',KEYS[1],'a',2) end
