local now, ids = tonumber(ARGV[1]), {}
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= 10 then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local top = redis.call('ZRANGE', KEYS[1], 0, 9)
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, 9)
for i = 4, #ARGV do ids[#ids + 1] = ARGV[i] end
if #ids > 0 then redis.call('SADD', KEYS[2], unpack(ids)) end
return top
