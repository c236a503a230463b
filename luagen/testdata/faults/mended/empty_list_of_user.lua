redis.call('SET', KEYS[1], ARGV[1])
return tonumber(ARGV[1])
