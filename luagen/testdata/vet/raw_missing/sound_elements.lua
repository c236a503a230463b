-- The same, asked first, or nil on purpose.
local oldest = redis.call('zrange', KEYS[1], 0, 0, 'withscores')
if #oldest > 0 then redis.call('set', KEYS[2], oldest[2] + ARGV[1]) end
for i = 1, #oldest, 2 do redis.call('zrem', KEYS[3], oldest[i]) end
local funds = string.gsub(redis.call('hget', KEYS[4], 'funds') or '0', '"', '')
local name = redis.call('hget', KEYS[5], 'name')
if not name then return {funds} end
local line, near = string.format('%s', name) .. name:upper(), nil
if next(oldest) ~= nil then near = oldest[1] end
local taken = {}
table.insert(taken, tonumber(redis.call('get', KEYS[6])) or 0)
for i = 8, #KEYS do
  if redis.call('hexists', KEYS[i], 'n') == 0 then return {i} end
end
for j = 8, #KEYS do taken[#taken + 1] = tonumber(redis.call('hget', KEYS[j], 'n')) end
for i = 1, redis.call('hget', KEYS[7], 'n') or 0 do taken[i] = i end
return {line, taken, near}
