local a = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local b = redis.call('XRANGE', KEYS[1], '-', '+')
local g = redis.call('ZRANGE', KEYS[2], '+inf', '-inf', 'BYSCORE', 'REV')
local g2 = redis.call('ZRANGE', KEYS[2], 0, -1, 'REV')
local h = redis.call('ZRANGE', KEYS[2], '+', '-', 'BYLEX', 'REV')
local l = redis.call('XPENDING', KEYS[1], 'g', '-', '+', 10)
local n = redis.call('ZRANGE', KEYS[2], ARGV[1], '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1)
local o = redis.call('ZRANGE', KEYS[2], ARGV[1], 0, 'BYSCORE', 'REV', 'LIMIT', 0, 1)
return {a, b, g, g2, h, l, n,o}
