-- The same, asked before the table is returned, or filled.
local last, name = tonumber(redis.call('get', KEYS[1])), redis.call('get', KEYS[2]) or nil
local reply, filled = {last, name, redis.call('pttl', KEYS[1])}, {last, 1}
filled[1] = filled[1] or 0
if last == nil or name == nil then return filled end
return reply
