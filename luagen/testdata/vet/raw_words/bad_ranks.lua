local count = math.min(tonumber(ARGV[1]), redis.call('LLEN', KEYS[1]))
local a = redis.call('LRANGE', KEYS[1], 0, count)
local d = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', ARGV[2], 'LIMIT', 0, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, #d)
return {a, d}
