-- ARGV[2]: tokens per second
local now_ms, rate, most_per_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local level = tonumber(redis.call('hget', KEYS[1], 'level') or 0)
local last_ms = tonumber(redis.call('hget', KEYS[1], 'last_ms') or 0)
level = level + (now_ms - last_ms) * rate
local sum = level + most_per_ms * ((now_ms - last_ms) / 1000)
local retry_ms = math.ceil(level / rate)
return {math.floor(level), math.floor(sum), retry_ms}
