redis.call('INCR', KEYS[1])
local id = redis.call('GET', KEYS[1])
redis.call('HSET', KEYS[2], 'order:' .. id, ARGV[1])
return redis.call('GET', KEYS[1])
