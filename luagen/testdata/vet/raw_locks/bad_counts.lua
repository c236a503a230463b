-- ARGV[1]: cost
-- ARGV[2]: seconds of the window
-- ARGV[3]: limit
local used = redis.call('incrby', KEYS[1], ARGV[1])
if used == 1 then redis.call('expire', KEYS[1], ARGV[2]) end
return used
