--[[
arg 1 -> ms window
ARGV = { limit, lock timeout in seconds,
         now_us, period_ms, calls per second, user id }
]]
local window = tonumber(ARGV[1])
local pause = tonumber(ARGV[6]) -- 暂停（毫秒）
local wait = 10000 -- 10 seconds
local rate = tonumber(ARGV[5]) -- 每秒
local second, key_ns = tonumber(ARGV[7]), ARGV[8]
local function touch(key, ttl_ms)
  redis.call('pexpire', key, ttl_ms)
end
redis.call('pexpire', KEYS[1], window * 2)
redis.call('expire', KEYS[1], ARGV[2])
redis.call('psetex', KEYS[2], ARGV[4], 'v')
redis.call('pexpire', KEYS[1], pause + wait)
touch(KEYS[1], second)
redis.call('expireat', KEYS[1], ARGV[9]) -- in the last 60 seconds
local time = redis.call('time')
math.randomseed(time[1] + time[2])
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('hset', KEYS[3], 'seen_ms', now)
if now - redis.call('hget', KEYS[3], 'last_ms') > window * rate then
  return key_ns
end
local now_us = time[1] * 1000000 + time[2]
return ARGV[3] - now_us
