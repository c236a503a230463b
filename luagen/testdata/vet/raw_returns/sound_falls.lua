local owner = redis.call('get', KEYS[1])
if not owner then
  owner = ARGV[1]
  redis.call('set', KEYS[1], owner, 'px', ARGV[2])
end
if owner == ARGV[1] then
  return 2
end
if ARGV[3] == 'drop' then
  redis.call('hdel', KEYS[2], ARGV[1])
elseif ARGV[3] == 'keep' then
  return 3
end
if redis.call('sismember', KEYS[3], ARGV[4]) == 1 then
  redis.call('incr', KEYS[4])
end
redis.call('incr', KEYS[4])
local level = 0
if redis.call('hget', KEYS[7], ARGV[4]) == '3' then
  level = 1
  return level
end
if redis.call('hget', KEYS[7], ARGV[4]) == '4' then
  level = 1
end
redis.call('hset', KEYS[7], ARGV[4], level)
if redis.call('hget', KEYS[5], ARGV[4]) == '1' then
  redis.call('zadd', KEYS[6], 1, ARGV[4])
  return -1
end
if redis.call('hget', KEYS[5], ARGV[4]) == '2' then
  redis.call('zadd', KEYS[6], 1, ARGV[4])
end
return 0
