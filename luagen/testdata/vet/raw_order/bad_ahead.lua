local ends = ARGV[1] + ARGV[2]
redis.call('zremrangebyscore', KEYS[1], '-inf', ends)
redis.call('zadd', KEYS[1], ends, ARGV[3])
redis.call('zremrangebyrank', KEYS[2], ARGV[4], -1)
local page = redis.call('sscan', KEYS[3], '0')
return {redis.call('zrevrange', KEYS[2], 0, 9), page[2]}
