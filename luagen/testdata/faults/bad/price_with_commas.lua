local price = tonumber(string.gsub(ARGV[1], ',', ''))
return redis.call('INCRBY', KEYS[1], price or 0)
