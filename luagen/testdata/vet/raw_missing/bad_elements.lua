-- The first element of what may be empty, a text for a function, and a name that only one way sets.
local oldest = redis.call('zrange', KEYS[1], 0, 0, 'withscores')
redis.call('set', KEYS[2], oldest[2] + ARGV[1])
if not redis.call('get', KEYS[3]) then return {0} end
local funds = string.gsub(redis.call('hget', KEYS[4], 'funds'), '"', '')
local name = redis.call('hget', KEYS[5], 'name')
local line = string.format('%s', name) .. name:upper()
local near
if next(oldest) ~= nil then near = oldest[1] end
local taken = {}
table.insert(taken, tonumber(redis.call('get', KEYS[6])))
for i = 1, #KEYS do taken[#taken + 1] = tonumber(redis.call('hget', KEYS[i], 'n')) end
for i = 1, tonumber(redis.call('hget', KEYS[7], 'n')) do taken[i] = i end
return {funds, line, taken, near}
