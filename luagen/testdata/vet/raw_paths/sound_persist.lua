if ARGV[1]=='pin' then redis.call('SET',KEYS[1],ARGV[2]) redis.call('PERSIST',KEYS[1]) else redis.call('SET',KEYS[1],ARGV[2],'EX',60) end
