--- Writes whose order does not matter, and texts that are declared, by order.
---@key fields hash
---@key members set
---@key job hash prefix
---@arg json string
---@arg newest string
local given, n = {name = json, at = newest}, 0
for name, value in pairs(given) do
  if name == 'at' then
    value = cjson.encode(value)
  end
  redis.call('hset', fields, name, tostring(value))
  redis.call('sadd', members, value)
  redis.call('hset', job .. ':' .. name, 'state', 'new')
  redis.call('pexpire', job .. ':' .. name, 1000)
  n = n + 1
end
local last = redis.call('hget', fields, 'newest')
if n > 0 and (not last or last < newest) then
  redis.call('hset', fields, 'newest', newest)
end
