local interval = 0
if ARGV[2] ~= '' then interval = tonumber(ARGV[2]) end
local size = redis.call('rpush', KEYS[1], ARGV[1])
if interval > 0 then redis.call('expire', KEYS[1], interval) end
return size
