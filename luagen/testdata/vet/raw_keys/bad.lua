-- One finding for a script, at its first such key.
local owner = redis.call('get', KEYS[1])
redis.call('del', 'owner:' .. owner)
redis.call('del', 'all')
return 1
