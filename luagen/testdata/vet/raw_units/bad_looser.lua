-- KEYS[2]: the lifetime of a bucket, in seconds
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2])
local late = time[1] / 1000 + math.floor(time[2] / 1000)
local ttl_seconds = tonumber(ARGV[1]) * 1000
redis.call('pexpire', KEYS[1], KEYS[2])
local window = tonumber(ARGV[2])
redis.call('expireat', KEYS[1], window)
-- 每次访问均重新设置过期时间，单位毫秒
redis.call('expire', KEYS[1], ARGV[6])
local last_ms, period_seconds = tonumber(ARGV[3]), tonumber(ARGV[4])
return {math.floor(now), math.floor(late), ttl_seconds, math.floor((tonumber(ARGV[5]) - last_ms) / period_seconds)}
