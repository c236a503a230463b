-- ARGV[7]: the lifetime of a bucket, in seconds
local time = redis.call('TIME')
math.randomseed(time[1] + time[2])
local expiration, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('expireat', KEYS[1], expiration)
redis.call('expireat', KEYS[1], time[1] + window)
redis.call('expire', KEYS[2], ARGV[7])
local window_ms = tonumber(ARGV[3]) * 1000
local last_ms, period_ms = tonumber(ARGV[4]), tonumber(ARGV[5])
return math.floor((tonumber(ARGV[6]) - last_ms) / period_ms + window_ms / (1000 * 1000))
