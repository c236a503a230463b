-- Conditions that are alike, or that something stands between.
local state, level = redis.call('hget', KEYS[1], 'state'), tonumber(ARGV[2])
local function tried() return redis.call('incr', KEYS[2]) end
if state == ARGV[1] and level > 1 then
  return 1
elseif state == ARGV[1] then
  return 2
elseif level > 1 or state == 'open' then
  return 3
elseif tried() == 1 then
  return 4
elseif tried() == 1 then
  return 5
elseif redis.call('spop', KEYS[3]) == ARGV[1] then
  return 6
elseif redis.call('spop', KEYS[3]) == ARGV[1] then
  return 7
elseif level < 1 and state == 'half' then
  return 8
end
if state == ARGV[1] then
  return 9
end
return 0
