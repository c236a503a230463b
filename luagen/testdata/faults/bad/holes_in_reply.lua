local skip = redis.call('GET', KEYS[1])
local out = {}
for i, member in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if member ~= skip then
    out[i] = member
  end
end
return out
