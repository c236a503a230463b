local identifier, now = ARGV[1], ARGV[2]
redis.call('zadd', KEYS[1], 'XX', 'CH', now, identifier)
redis.call('zadd', KEYS[1], 'XX', 'CH', 'GT', now, identifier)
redis.call('zadd', KEYS[1], 'CH', 'NX', now, identifier)
redis.call('zadd', KEYS[1], 'INCR', 'LT', 1, identifier)
redis.call('zadd', KEYS[1], 1, 'CH')
redis.call('set', KEYS[2], 'GET')
return redis.call('psetex', KEYS[2], '1000', ARGV[3])
