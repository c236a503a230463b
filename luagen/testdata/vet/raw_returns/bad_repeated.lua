local state, level = redis.call('hget', KEYS[1], 'state'), tonumber(ARGV[2])
if state == ARGV[1] and level > 1 then
  return 1
elseif state == 'open' or (state == 'half') then
  return 2
elseif state == ARGV[1] and (level > 1) and ARGV[3] then
  return 3
elseif state == 'half' then
  return 4
elseif redis.call('exists', KEYS[2]) == 1 then
  return 5
elseif not state or redis.call('exists', KEYS[2]) == 1 then
  return 6
elseif redis.call('exists', KEYS[2]) == 1 or state == 'open' then
  return 7
end
return 0
