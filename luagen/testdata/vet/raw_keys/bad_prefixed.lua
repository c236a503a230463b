local key = KEYS[1]
if redis.call('get', key) == ARGV[1] then return redis.call('del', 'lock:' .. key) end
return 0
