-- Branches that log and return, log about another key, or about what the caller did not choose, or before the key is set.
local owner, left = redis.call('GET', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or 0)
if owner ~= ARGV[1] then
  redis.log(redis.LOG_WARNING, 'lost')
  return 0
end
if left < 0 then redis.log(redis.LOG_WARNING, 'broken') end
redis.call('INCRBY', KEYS[2], ARGV[2])
if redis.call('SCARD', KEYS[3]) > tonumber(ARGV[3]) then redis.log(redis.LOG_NOTICE, 'many') end
for i = 4, #KEYS do
  if redis.call('GET', KEYS[i]) ~= ARGV[4] then redis.log(redis.LOG_NOTICE, 'other') end
end
for i = 4, #ARGV do redis.call('LPUSH', 'all:' .. KEYS[2], ARGV[i], KEYS[1]) end
redis.call('DEL', KEYS[1])
if owner ~= ARGV[5] then redis.log(redis.LOG_NOTICE, 'changes') end
redis.call('SET', KEYS[1], ARGV[5])
return 1
