local rate = tonumber(ARGV[1])
local elapsed = tonumber(ARGV[2])
local tokens = math.min(tonumber(ARGV[3]), elapsed * rate)
redis.call('HSET', KEYS[1], 'tokens', tokens)
return {1, tokens}
