local won = redis.call('setnx', KEYS[1], ARGV[1])
redis.call('expire', KEYS[1], ARGV[2])
if won == 0 then return false end
local n = redis.call('incr', KEYS[2])
redis.call('pexpire', KEYS[2], ARGV[3])
return n > tonumber(ARGV[4]) and 0 or 1
