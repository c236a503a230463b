local state, level = redis.call('hget', KEYS[1], 'state'), tonumber(ARGV[2])
if state == ARGV[1] and level > 1 then
  return 1
elseif redis.call('exists', KEYS[2]) == 1 then
  return 2
elseif state == ARGV[1]
    and level > 1 then
  return 3
elseif redis.call('exists', KEYS[2]) == 1 then
  return 4
end
return 0
