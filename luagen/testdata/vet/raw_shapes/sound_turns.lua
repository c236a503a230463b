local z = redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local t = {}
for i = 1, #z, 2 do
  local member = z[i]
  local score = z[i + 1]
  t[member] = score
end
for i, text in ipairs(z) do
  if i % 2 == 1 then redis.call('HSET', KEYS[2], text, z[i + 1]) end
end
local name
for _, text in ipairs(z) do
  if name then t[name], name = text, nil else name = text end
end
local winnerId = z[1]
local topScore = tonumber(z[2])
return cjson.encode({t = t, winnerId = winnerId, s = topScore})
