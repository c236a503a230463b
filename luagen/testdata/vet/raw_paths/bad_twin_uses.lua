local level = tonumber(redis.call('get', KEYS[1])) or 0
local at = tonumber(redis.call('get', KEYS[2])) or 0
redis.call('setex', KEYS[1], 60, level + 1)
redis.call('set', KEYS[2], at + tonumber(ARGV[1]))
return level
