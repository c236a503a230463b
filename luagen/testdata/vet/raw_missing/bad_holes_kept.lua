-- The table of the reply has a name.
local last = tonumber(redis.call('get', KEYS[1]))
local reply = {last, redis.call('pttl', KEYS[1])}
redis.call('incr', KEYS[2])
return reply
