local ttl = math.floor(tonumber(ARGV[2]) / 1000)
redis.call('SET', KEYS[1], ARGV[1], 'EX', ttl)
return ttl
