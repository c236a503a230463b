local skip = redis.call('GET', KEYS[1])
local out = {}
for _, member in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if member ~= skip then
    out[#out + 1] = member
  end
end
return out
