local now = redis.call('time')[1]
local at = tonumber(redis.call('hget', KEYS[1], 'at')) or tonumber(now)
local add = math.floor(math.max(0, tonumber(now) - at) / tonumber(ARGV[1]))
redis.call('hset', KEYS[1], 'tokens', add, 'at', now)
redis.call('expire', KEYS[1], 600)
return add
