local count_key = '{' .. KEYS[1] .. '}'
local state_key = KEYS[1] .. ':S'
local count = redis.call('INCR', count_key)
redis.call('PEXPIRE', count_key, ARGV[1])
redis.call('SET', state_key, count, 'PX', ARGV[1])
return count
