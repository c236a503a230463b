-- ARGV[1]: how many calls a window has
-- ARGV[2]: how many entries to keep
-- ARGV[5]: the last index
local used = tonumber(redis.call('get', KEYS[1]) or '0')
if used >= tonumber(ARGV[1]) then return 0 end
redis.call('incr', KEYS[1])
local seats, max = redis.call('hget', KEYS[2], 'seats') or 0, tonumber(ARGV[3])
if seats + 1 > max or seats + tonumber(ARGV[4]) > max then return 0 end
redis.call('hincrby', KEYS[2], 'seats', 1)
local version, seen = tonumber(ARGV[6]), tonumber(redis.call('get', KEYS[6]) or '0')
if seen > version then return 0 end
redis.call('incr', KEYS[6])
if redis.call('llen', KEYS[4]) > 0 then return 0 end
redis.call('lpush', KEYS[4], used)
if redis.call('llen', KEYS[4]) > max then redis.call('rpop', KEYS[4]) end
redis.call('ltrim', KEYS[4], 0, ARGV[2] - 1)
redis.call('ltrim', KEYS[4], 0, ARGV[5])
local count = tonumber(ARGV[7])
local page = redis.call('zrange', KEYS[3], 0, count)
if #page > count then page[#page] = nil end
local kind = redis.call('type', KEYS[5]).ok
if kind == 'set' then return redis.call('smembers', KEYS[5]) end
redis.call('hset', KEYS[7], 'a', 1)
redis.call('set', KEYS[7], 'a')
return redis.call('get', KEYS[7])
