local n = redis.call('INCR', KEYS[1])
return ARGV[1] .. '-' .. string.format('%08d', n)
