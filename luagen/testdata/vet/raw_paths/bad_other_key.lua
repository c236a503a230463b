redis.call('LPUSH',KEYS[1],ARGV[1])
if redis.call('LLEN',KEYS[2])>10 then return redis.error_reply('FULL queue') end
redis.call('EXPIRE',KEYS[1],60)
return 1
