-- The reply is the increment, so the key is new.
local by = tonumber(ARGV[2])
local n = redis.call('incrby', KEYS[1], by)
if n == by then redis.call('pexpire', KEYS[1], ARGV[1]) end
return n
