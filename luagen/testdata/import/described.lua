--[[
  Moves a job.
  The score is its time.
]]
-- @return number of moved jobs
-- KEYS[1] = queue, KEYS[2] = processing set
-- ARGV[1] = the job; ARGV[2] - its time
redis.call('lrem', KEYS[1], 1, ARGV[1])
redis.call('hincrby', KEYS[3], 'moved', ARGV[3])
return redis.call('zadd', KEYS[2], ARGV[2], ARGV[1])
