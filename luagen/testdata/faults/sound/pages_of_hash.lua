local cursor, count = '0', 0
repeat
  local page = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', 200)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    if tonumber(page[2][i + 1]) then
      count = count + 1
    end
  end
until cursor == '0'
return count
