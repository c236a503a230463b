local all, same = 0, {}
for _, id in ipairs(redis.call('lrange', KEYS[1], 0, -1)) do
  if id == ARGV[1] then
    same[#same + 1] = id
  end
  return same
end
repeat
  local page = redis.call('zscan', KEYS[2], ARGV[2])
  for i = 1, #page[2], 2 do
    all = all + redis.call('zrem', KEYS[2], page[2][i])
  end
  return all
until page[1] == '0'
