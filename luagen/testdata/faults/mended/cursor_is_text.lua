local cursor, found, rounds = '0', 0, 0
repeat
  local page = redis.call('SSCAN', KEYS[1], cursor, 'COUNT', 100)
  cursor = page[1]
  found = found + #page[2]
  rounds = rounds + 1
until
  cursor == '0' or rounds == 50
return found
