local now, t, ids = tonumber(ARGV[1]), redis.call('TIME'), {}
redis.call('ZADD', KEYS[1], now, tostring(now))
redis.call('ZADD', KEYS[1], t[1], 'at:' .. t[1])
local n = redis.call('ZCARD', KEYS[1])
redis.call('ZADD', KEYS[1], now, ARGV[1] .. ':' .. n)
local last = tonumber(ARGV[2])
local top = redis.call('ZRANGE', KEYS[1], 0, last - 1)
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, last)
for i = 3, #ARGV do ids[#ids + 1] = ARGV[i] end
redis.call('RPUSH', KEYS[2], unpack(ids))
return top
