local all=redis.call('SMEMBERS',KEYS[2])
for _,m in ipairs(all) do redis.call('SADD',KEYS[1],m) end
if #all>0 then redis.call('EXPIRE',KEYS[1],60) end
