local points = tonumber(ARGV[1]) / tonumber(ARGV[2])
return redis.call('INCRBY', KEYS[1], math.ceil(points))
