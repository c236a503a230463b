-- A mark of what was done and a stock; a list of all, and a job.
if redis.call('exists', KEYS[2]) == 0 then
  redis.call('hset', KEYS[1], 'available', ARGV[1])
  redis.call('hset', KEYS[2], 'state', 'RESERVED')
  redis.call('expire', KEYS[2], 60)
end
redis.call('zadd', KEYS[3], ARGV[2], ARGV[3])
redis.call('zadd', KEYS[4], 1, ARGV[3])
redis.call('expire', KEYS[4], 60)
return 1
