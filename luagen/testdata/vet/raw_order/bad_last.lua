-- ARGV[1]: time, ARGV[3]: batch size, ARGV[4]: max length
redis.call('zadd', KEYS[1], ARGV[1], ARGV[2])
redis.call('zremrangebyscore', KEYS[1], '-inf', ARGV[1])
local some = redis.call('lrange', KEYS[2], 0, tonumber(ARGV[3]))
redis.call('ltrim', KEYS[2], tonumber(ARGV[3]), -1)
redis.call('lpush', KEYS[3], ARGV[2])
redis.call('ltrim', KEYS[3], 0, ARGV[4])
return #some
