-- A field that may be missing, through a function, and in a loop over a reply.
local fields = redis.call('hmget', KEYS[1], 'a', 'b')
local function number(raw) return tonumber(raw) end
if number(fields[1]) < 3 then return 0 end
local sum = 0
for _, v in ipairs(redis.call('mget', KEYS[2], KEYS[3])) do sum = sum + v end
return sum
