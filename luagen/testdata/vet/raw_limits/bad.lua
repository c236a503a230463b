-- ARGV[1]: how many calls a window has
-- ARGV[2]: how many entries to keep
local used = redis.call('get', KEYS[1])
if used and tonumber(used) > tonumber(ARGV[1]) then return 0 end
redis.call('incr', KEYS[1])
local max = tonumber(ARGV[3])
local seats = tonumber(redis.call('hget', KEYS[2], 'seats') or '0')
if max < seats then return 0 else redis.call('hincrby', KEYS[2], 'seats', 1) end
if redis.call('zcard', KEYS[3]) <= max then redis.call('zadd', KEYS[3], 1, 'a') end
redis.call('lpush', KEYS[4], 'a')
redis.call('ltrim', KEYS[4], 0, ARGV[2])
if redis.call('scard', KEYS[4]) > 3 then redis.call('del', KEYS[5]) end
return redis.call('zrevrange', KEYS[3], 0, ARGV[2])
