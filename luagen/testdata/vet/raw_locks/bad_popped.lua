local id = redis.call('rpop', KEYS[1])
if not id then return false end
if redis.call('scard', KEYS[2]) >= tonumber(ARGV[1]) then return false end
redis.call('sadd', KEYS[2], id)
local next = redis.call('zpopmin', KEYS[3])
if #next == 0 then return false end
if redis.call('get', KEYS[4]) == '1' then return false end
redis.call('hset', KEYS[5], next[1], id)
return next[1]
