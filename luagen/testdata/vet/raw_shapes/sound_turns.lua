local z = redis.call('ZREVRANGE', KEYS[2], 0, -1, 'WITHSCORES')
local t = {}
for i = 1, #z, 2 do
  local member = z[i]
  local score = z[i + 1]
  t[member] = score
end
local winnerId = z[1]
local topScore = tonumber(z[2])
return cjson.encode({t = t, winnerId = winnerId, s = topScore})
