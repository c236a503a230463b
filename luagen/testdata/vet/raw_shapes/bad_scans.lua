local cursor, n = '0', 0
repeat
  local page = redis.call('SSCAN', KEYS[1], cursor)
  cursor = page[1]
  for _, member in ipairs(page) do
    redis.call('SREM', KEYS[2], member)
  end
  if #page[2] == 0 then
    break
  end
until cursor == 0
local all = {}
while #all == 0 do
  all = redis.call('HSCAN', KEYS[3], n)[2]
  for i = 1, #all do
    redis.call('SET', KEYS[2], all[i + 1], 'EX', 5)
  end
end
while cursor ~= 0 do
  cursor = redis.call('ZSCAN', KEYS[4], cursor)[1]
  for _, c in ipairs(cursor) do
    redis.call('DEL', KEYS[2])
  end
end
