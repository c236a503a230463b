-- ARGV[2]: tokens per second
local now_ms, rate, most_per_ms = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local level = tonumber(redis.call('hget', KEYS[1], 'level') or 0)
local last_ms = tonumber(redis.call('hget', KEYS[1], 'last_ms') or 0)
level = level + (now_ms - last_ms) * rate / 1000 + most_per_ms * (now_ms - last_ms)
level = level + (now_ms - last_ms) * (rate / 1000) + (now_ms - last_ms) / 1000 * rate
local retry_ms = math.ceil(level / rate * 1000)
redis.call('expire', KEYS[1], math.ceil(level / rate) + 1)
local a_per_sec, b_per_sec = tonumber(ARGV[4]), tonumber(ARGV[5])
local both = (a_per_sec * 1e12) * (b_per_sec * 1e12)
return {math.floor(level), retry_ms, math.floor(both)}
