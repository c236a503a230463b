-- A mark of what was done and a stock; a list of all, and a job.
if redis.call('exists', KEYS[4]) == 0 then
  redis.call('hset', KEYS[3], 'available', ARGV[1])
  redis.call('hset', KEYS[4], 'state', 'RESERVED')
  redis.call('expire', KEYS[4], 60)
end
redis.call('zadd', KEYS[5], ARGV[2], ARGV[3])
redis.call('zadd', KEYS[6], 1, ARGV[3])
redis.call('expire', KEYS[6], 60)
return 1
