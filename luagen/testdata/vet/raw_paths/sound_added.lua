local by = tonumber(ARGV[1])
local n = redis.call('INCRBY', KEYS[1], by)
if n == by then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n
