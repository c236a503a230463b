local id = redis.call('GET', KEYS[1])
if not id then return 0 end
local key = KEYS[2]
redis.call('HSET', key, 'state', 'running')
return 1
