local call = redis.call
call('zrem', KEYS[1], ARGV[1])
call('decr', KEYS[2])
if call('scard', KEYS[3]) == 0 then return redis.error_reply('EMPTY') end
call('hincrby', KEYS[4], 'members', -1)
local removed = call('srem', KEYS[3], ARGV[2])
call('hsetnx', KEYS[5], ARGV[3], ARGV[4])
local n = call('incr', KEYS[6])
return {removed, n}
