local key, interval, ttl_ms, now_ms = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local pause = tonumber(ARGV[5])
local time = redis.call('time')
redis.call('expire', key, math.ceil(interval * 0.5))
redis.call('expire', key, math.ceil(ttl_ms / 1000))
redis.call('expire', key, math.max(1, math.floor(ttl_ms / 1000)))
redis.call('expire', key, math.floor(ttl_ms / 1000) + 1)
redis.call('pexpire', key, interval * 1000)
redis.call('pexpire', key, pause * 2)
redis.call('pexpire', key, ttl_ms * 2)
redis.call('expire', key, ARGV[1])
redis.call('expireat', key, time[1] + interval)
redis.call('expireat', key, time[1] + math.ceil(ttl_ms / 1000))
redis.call('pexpireat', key, time[1] * 1000 + math.floor(time[2] / 1000) + ttl_ms)
redis.call('pexpireat', key, now_ms + ttl_ms)
redis.call('pexpire', KEYS[2], redis.call('pttl', key))
redis.call('zadd', KEYS[5], time[1], time[1] .. ':' .. ARGV[1])
redis.call('zremrangebyscore', KEYS[3], 0, now_ms - ttl_ms)
local tokens_per_ms = tonumber(ARGV[4])
if tokens_per_ms > time[1] + 0 then
  redis.call('pexpire', key, ttl_ms)
end
local seconds = math.floor(pause / 1000)
if seconds > 0 then
  redis.call('expire', key, seconds)
end
local short = math.floor(pause / 1000)
if pause >= 1000 then
  redis.call('setex', key, short, 'v')
end
if short == 0 then
  short = 1
end
redis.call('expire', key, short)
redis.call('xread', 'block', 0, 'streams', KEYS[4], '0')
math.randomseed(time[1] + time[2])
if time[1] * 1000 > now_ms then
  return {time[1] - 5, math.random(5)}
end
return redis.call('expire', key, 60 * 60 / 2)
