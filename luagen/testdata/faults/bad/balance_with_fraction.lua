local before = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
local cost = tonumber(ARGV[2])
local after = before - cost * 0.5
redis.call('SET', KEYS[1], after, 'EX', 60)
return {before, after}
