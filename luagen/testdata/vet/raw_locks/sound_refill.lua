local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local saved = redis.call('hmget', KEYS[1], 'tokens', 'at')
local at, every = tonumber(saved[2] or now), tonumber(ARGV[2])
local fresh = math.floor((now - at) / every)
redis.call('hset', KEYS[1], 'tokens', tonumber(saved[1] or 0) + fresh, 'at', at + fresh * every)
redis.call('pexpire', KEYS[1], 3600000)
local last = tonumber(redis.call('hget', KEYS[2], 'last')) or 0
local whole = math.floor((now - last) / 1000)
redis.call('hset', KEYS[2], 'left', whole, 'seen', now, 'last', last + whole * 1000)
redis.call('pexpire', KEYS[2], 3600000)
return {fresh, math.floor((now - at) / 1000)}
