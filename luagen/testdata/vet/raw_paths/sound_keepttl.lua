if redis.call('EXISTS',KEYS[1])==1 then redis.call('SET',KEYS[1],ARGV[1],'KEEPTTL') else redis.call('SET',KEYS[1],ARGV[1],'EX',60) end
