--[[
arg 1 -> ms window
ARGV = { limit, lock timeout in seconds,
         now_us, period_ms, delay in nanoseconds, user id }
retryMs: how long to wait
]]
local window = tonumber(ARGV[1])
local pause = tonumber(ARGV[7]) -- 暂停（毫秒）
local retry = tonumber(ARGV[8]) -- retry interval in seconds
local function touch(key, ttl_ms)
  redis.call('expire', key, ttl_ms)
end
redis.call('expire', KEYS[1], window * 2)
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('setex', KEYS[2], ARGV[4], 'v')
redis.call('expire', KEYS[1], pause)
redis.call('pexpire', KEYS[1], retry)
touch(KEYS[1], redis.call('time')[1])
local time = redis.call('time')
local now = time[1] * 1000 + time[2]
redis.call('hset', KEYS[3], 'seen_ms', time[1])
if time[1] - redis.call('hget', KEYS[3], 'last_ms') > 5 then
  return {now, ARGV[3], ARGV[6]}
end
return ARGV[5] - ARGV[1]
