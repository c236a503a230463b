if ARGV[1] == 'list' then
  redis.call('rpush', KEYS[1], ARGV[2])
else
  redis.call('sadd', KEYS[1], ARGV[2])
end
redis.call('hset', KEYS[2], 'state', ARGV[2])
redis.call('del', KEYS[2])
redis.call('zadd', KEYS[2], 1, ARGV[2])
redis.pcall('incr', KEYS[4])
redis.call('lpush', KEYS[4], ARGV[2])
if redis.call('type', KEYS[3]).ok == 'hash' then
  redis.call('hset', KEYS[3], 'state', ARGV[2])
end
redis.call('lpush', KEYS[3], ARGV[2])
redis.call('geoadd', KEYS[5], 1, 2, ARGV[2])
redis.call('zrem', KEYS[5], ARGV[3])
redis.call('rpush', KEYS[6], redis.call('xgroup', 'help')[1], redis.call('xgroup', 'help')[2])
return redis.call('zunionstore', KEYS[1], 2, KEYS[5], KEYS[2])
