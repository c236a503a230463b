local flat = redis.call('HGETALL', KEYS[1])
local out = {}
for i = 1, #flat, 2 do
  if string.sub(flat[i], 1, 2) == 'n:' then
    out[#out + 1] = flat[i]
    out[#out + 1] = flat[i + 1]
  end
end
return out
