local raw = redis.call('HGETALL', KEYS[1])
local t = {}
for i = 2, #raw, 2 do
  t[raw[i]] = raw[i + 1]
end
local n = #raw
for i = 1, n, 2 do
  t[raw[i - 1]] = raw[i]
end
local z = redis.call('ZREVRANGE', KEYS[2], 0, -1, 'WITHSCORES')
for i = 1, #z, 2 do
  local member = z[i + 1]
  local score = z[i]
  t[member] = score
end
local winnerId = z[1]
local userId = z[2]
local topScore = tonumber(z[1])
for i = 2, #z, 2 do
  local user_id, points = z[i], z[i + 1]
  t[user_id] = points
end
return cjson.encode({t = t, winnerId = winnerId, user = userId, s = topScore})
