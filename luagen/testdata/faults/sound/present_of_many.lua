local found = {}
local values = redis.call('MGET', unpack(KEYS))
for i, value in ipairs(values) do
  if value then
    found[#found + 1] = KEYS[i]
  end
end
return found
