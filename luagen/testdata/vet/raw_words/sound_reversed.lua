local now, window, max_score, min_score = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
redis.call('zrevrangebyscore', KEYS[1], now, 0)
redis.call('zrangebyscore', KEYS[1], -window, 0)
redis.call('zcount', KEYS[1], 0, 0)
redis.call('zremrangebyscore', KEYS[1], now - window, now)
redis.call('zrangebyscore', KEYS[1], min_score, max_score)
redis.call('zrevrangebyscore', KEYS[1], max_score, min_score)
redis.call('zrange', KEYS[1], '+inf', 0, 'BYSCORE', 'REV', 'LIMIT', 0, 5)
redis.call('zrange', KEYS[1], '[b', '[a', 'BYLEX', 'REV')
redis.call('lrange', KEYS[2], -1, -1)
redis.call('lrange', KEYS[2], -5, -1)
redis.call('ltrim', KEYS[2], 1, 0)
redis.call('zremrangebyrank', KEYS[1], 0, -5)
redis.call('zremrangebyrank', KEYS[1], 1, 0)
redis.call('getrange', KEYS[3], 5, -1)
local to_end, from_start = -1, 0
if ARGV[5] then
  from_start = -(tonumber(ARGV[5]) + 1)
  to_end = -(tonumber(ARGV[6]) + 1)
end
redis.call('lrange', KEYS[2], to_end, from_start)
local count, offset, due = ARGV[7], ARGV[8], redis.call('zrangebyscore', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[9])
redis.call('zrangebyscore', KEYS[1], '-inf', now, 'LIMIT', offset, count)
redis.call('zremrangebyrank', KEYS[1], 0, #due - 1)
redis.call('zremrangebyscore', KEYS[1], 0, now - #due)
redis.call('zrange', KEYS[1], 0, -(count + 1))
redis.call('zrange', KEYS[1], 0, now, 'BYSCORE')
redis.call('ltrim', KEYS[2], 0, count - 1)
return nil
