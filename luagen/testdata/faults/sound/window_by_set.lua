local ok = redis.call('SET', KEYS[1], 0, 'EX', ARGV[1], 'NX')
local n = redis.call('INCR', KEYS[1])
return {n, ok and 1 or 0}
