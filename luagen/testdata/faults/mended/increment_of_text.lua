local by = tonumber(ARGV[1]) * 10
redis.call('HINCRBY', KEYS[1], 'n', string.format('%.0f', by))
return redis.call('HGET', KEYS[1], 'n')
