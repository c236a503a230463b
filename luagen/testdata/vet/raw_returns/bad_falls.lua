local owner = redis.call('get', KEYS[1])
if not owner then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
end
if owner == ARGV[1] then
  return 2
end
if ARGV[3] == 'drop' then
  redis.call('hdel', KEYS[2], ARGV[1])
end
if ARGV[3] == 'keep' then
  return 3
end
local payload = redis.call('hget', KEYS[3], ARGV[4])
if not payload then
  redis.call('zrem', KEYS[4], ARGV[4])
end
redis.call('zrem', KEYS[4], ARGV[4])
if redis.call('sismember', KEYS[5], ARGV[4]) == 1 then
  redis.call('zadd', KEYS[6], 1, ARGV[4])
end
if redis.call('hget', KEYS[7], ARGV[4]) == '1' then
  redis.call('zadd', KEYS[6], 1, ARGV[4])
  return -1
end
return payload
