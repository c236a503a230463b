if redis.call('get', KEYS[1]) == ARGV[1] and redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) then return 1 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2], 'XX')
for _, id in ipairs(redis.call('zrange', KEYS[2], 0, 9)) do
  redis.call('zadd', KEYS[2], 'XX', ARGV[3], id)
  redis.call('zadd', KEYS[3], 'NX', ARGV[3], id)
end
if redis.call('zadd', KEYS[2], 'XX', 'CH', ARGV[3], ARGV[1]) == 0 then return 0 end
return redis.call('set', KEYS[4], ARGV[1], 'EX', 60) and 1 or 0
