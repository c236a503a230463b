-- One finding for a script, at its first such key.
local owner = redis.call('get', KEYS[1])
redis.call('del', 'owner:' .. owner)
redis.call('del', ARGV[1], 'all')
return 1
