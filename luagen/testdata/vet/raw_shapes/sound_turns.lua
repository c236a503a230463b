local raw = redis.call('HGETALL', KEYS[1])
local t = {}
for i = 1, #raw, 2 do
  t[raw[i]] = raw[i + 1]
end
local n = #raw
for i = 2, n, 2 do
  t[raw[i - 1]] = raw[i]
end
for i = 1, #raw do
  if i % 2 == 0 then t[raw[i - 1]] = raw[i] end
end
local z = redis.call('ZREVRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for i = 1, #z, 2 do
  local member = z[i]
  local score = z[i + 1]
  t[member] = score
end
local winnerId = z[1]
local topScore = tonumber(z[2])
return cjson.encode({t = t, winnerId = winnerId, s = topScore})
