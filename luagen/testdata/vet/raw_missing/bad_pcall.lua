-- Replies of redis.pcall, which may be errors.
local reply = redis.pcall('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])
if not reply then return 0 end
local n = redis.pcall('incr', KEYS[2])
if n > 5 then return -1 end
local text = redis.pcall('get', KEYS[3])
return 'is ' .. (text or '')
