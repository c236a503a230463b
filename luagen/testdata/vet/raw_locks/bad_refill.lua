local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local saved = redis.call('hmget', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(saved[1] or ARGV[1]), tonumber(saved[2] or now)
tokens = math.min(tonumber(ARGV[1]), tokens + math.floor((now - at) / tonumber(ARGV[2])))
redis.call('hset', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('pexpire', KEYS[1], 3600000)
local filled = tonumber(redis.call('get', KEYS[2]) or now)
local fresh = math.floor(math.max(0, now - filled) / 60000)
filled = now
redis.call('set', KEYS[2], filled, 'EX', 60)
redis.call('set', KEYS[3], fresh, 'EX', 60)
return tokens
