-- KEYS[1] the count
local by, ttl = tonumber(ARGV[1]), tonumber(ARGV[2])
local seconds = tonumber(ARGV[3])
redis.call('incrby', KEYS[1], by)
redis.call('expire', KEYS[1], seconds)
redis.call('incrby', KEYS[1], ARGV[4])
return by + ttl
