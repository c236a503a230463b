local now = tonumber(ARGV[1]) -- in milliseconds
local reset = 0 -- when the next token(s) are there
local last = tonumber(redis.call('get', KEYS[1]) or 0)
reset = math.max(last, now) + 1000
redis.call('set', KEYS[1], reset)
return {reset}
