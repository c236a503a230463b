local created=false
if redis.call('EXISTS',KEYS[1])==0 then created=true end
redis.call('RPUSH',KEYS[1],ARGV[1])
if created then redis.call('EXPIRE',KEYS[1],60) end
