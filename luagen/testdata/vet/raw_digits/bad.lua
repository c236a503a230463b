-- ARGV[1]: snowflake of the user
-- ARGV[3]: lease in ms, 0 means no expiry
local member, jobId = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('sadd', KEYS[1], member)
redis.call('hset', KEYS[2], 'job', 'j' .. jobId)
redis.call('pexpire', KEYS[2], ARGV[3])
local now_us = tonumber(ARGV[4])
redis.call('zremrangebyscore', KEYS[3], 0, '(' .. now_us - 5000000)
local created_at = tonumber(ARGV[5]) -- microseconds
return tostring(created_at)
