---@key out list
---@key fields hash
---@arg json string
local t = {a = json, b = ''}
for k, v in pairs(t) do
  redis.call('rpush', out, k .. v)
end
for k in pairs(t) do redis.call('hset', fields, 'last', k) end
local n = 0
for k in pairs(t) do
  n = n + 1
  redis.call('hset', fields, k, n)
end
for k, v in pairs(t) do
  if redis.call('hincrby', fields, 'sum', v) > 10 then redis.call('hset', fields, k, v) end
end
for k, v in pairs(t) do
  redis.call('hset', fields, k, v)
  if v == '' then break end
end
for k, v in pairs(t) do redis.call('hset', fields, v, k) end
