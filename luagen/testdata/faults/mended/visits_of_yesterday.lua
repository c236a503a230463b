redis.call('zremrangebyscore', KEYS[1], 0, ARGV[1])
local visits = redis.call('zcard', KEYS[1])
if visits >= 2 then return 0 end
return redis.call('zadd', KEYS[1], ARGV[2], ARGV[3])
