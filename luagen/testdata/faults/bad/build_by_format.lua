local id = redis.call('GET', KEYS[1])
if not id then return 0 end
local key = string.format('%s:%s', ARGV[1], id)
redis.call('HSET', key, 'state', 'running')
return 1
