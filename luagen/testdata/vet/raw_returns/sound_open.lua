-- Commands that return something, and others that do not; a last element that may be nil.
local function trim(key)
  if redis.call('llen', key) > 1 then
    redis.call('rpop', key)
    return redis.call('llen', key)
  end
  if ARGV[3] == 'all' then
    if redis.call('del', key) == 1 then return redis.call('dbsize') end
  end
end
local left = redis.call('hgetall', KEYS[1])
local state = {}
for i = 1, #left, 2 do state[left[i]] = left[i + 1] end
local places = state['places']
if ARGV[1] == 'book' then
  if places ~= nil then
    places = places - ARGV[2]
  end
  trim(KEYS[2])
  return {1, redis.call('incr', KEYS[3]), places}
elseif ARGV[1] == 'free' then
  return redis.call('decr', KEYS[3])
elseif ARGV[1] == 'clear' then
  redis.call('del', KEYS[3])
end
