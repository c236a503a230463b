local e=redis.call('EXISTS',KEYS[1])
redis.call('ZADD',KEYS[1],1,ARGV[1])
if e==0 then redis.call('EXPIRE',KEYS[1],60) end
