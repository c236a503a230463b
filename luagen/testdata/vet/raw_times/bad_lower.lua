local now, ttl = tonumber(ARGV[1]), tonumber(ARGV[2])
local head = redis.call('zrange', KEYS[1], 0, 0, 'WITHSCORES')
local wait = tonumber(head[2] or 0) - now
redis.call('set', KEYS[2], '1', 'PX', wait)
redis.call('expire', KEYS[3], ttl - 1)
redis.call('expire', KEYS[3], ttl + math.random())
redis.call('expire', KEYS[3], 86400 / 1000)
return 1
