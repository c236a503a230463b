-- ARGV[1]: snowflake of the user
-- ARGV[3]: lease in ms, 0 means no expiry
local member, shard_id, jobId = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[6])
redis.call('sadd', KEYS[1], member)
redis.call('hdel', KEYS[2], 's' .. shard_id)
redis.call('setbit', KEYS[4], jobId, 1)
if tonumber(ARGV[3]) > 0 then
  redis.call('pexpire', KEYS[2], ARGV[3])
end
local now_us = tonumber(ARGV[4])
redis.call('zremrangebyscore', KEYS[3], 0, now_us - 5000000)
local idle_us = now_us - tonumber(ARGV[5])
return idle_us .. ' microseconds'
