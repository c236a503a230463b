local ttl=redis.call('PTTL',KEYS[1])
redis.call('SET',KEYS[1],ARGV[1])
if ttl>0 then redis.call('PEXPIRE',KEYS[1],ttl) end
