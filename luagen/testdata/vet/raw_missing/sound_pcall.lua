-- The same, and the script looks at them.
local reply = redis.pcall('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])
if not reply then return 0 end
if reply.err then return reply end
local n = redis.pcall('incr', KEYS[2])
if type(n) == 'table' then return n end
if n > 5 then return -1 end
redis.pcall('expire', KEYS[2], 5)
return n
