-- The same, asked, or last.
local total = 0
for i = 1, #KEYS do
  local last = redis.call('lindex', KEYS[i], -1)
  if last and string.sub(last, 1, 2) == '0:' then total = total + 1 end
  redis.call('setnx', KEYS[i] .. ':total', 0)
  total = total + redis.call('get', KEYS[i] .. ':total')
end
for i = 1, #KEYS do total = total + (redis.call('get', KEYS[i]) or 0) end
local owner = redis.call('get', KEYS[1]) or nil
if owner == nil then return {total} end
return {owner or nil, total, redis.call('get', KEYS[1]) or nil}
