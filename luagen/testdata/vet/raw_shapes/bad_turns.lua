local z = redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local t = {}
for i = 1, #z, 2 do
  local member = z[i + 1]
  local score = z[i]
  t[member] = score
end
for id, bid in pairs(z) do redis.call('HSET', KEYS[2], id, bid) end
local winnerId = z[1]
local userId = z[2]
local topScore = tonumber(z[1])
return cjson.encode({t = t, winnerId = winnerId, user = userId, s = topScore})
