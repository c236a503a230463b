local left = math.max(1, ARGV[2] - ARGV[3])
redis.call('PSETEX', KEYS[1], left, ARGV[1])
return left
