-- The same, and asked.
local fields = redis.call('hmget', KEYS[1], 'a', 'b')
local function number(raw) return tonumber(raw) end
if not fields[1] or number(fields[1]) < 3 then return 0 end
local sum = 0
for _, v in ipairs(redis.call('mget', KEYS[2], KEYS[3])) do if v then sum = sum + v end end
return sum + (number(fields[2]) or 0)
