local window, delay, ttl, size = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('time')
local reset = math.ceil((ARGV[5] + window) / 1000)
redis.call('pexpire', KEYS[1], window)
redis.call('zadd', KEYS[2], time[1] * 1000, ARGV[6])
redis.call('zremrangebyscore', KEYS[2], 0, '(' .. time[1] * 1000 - delay)
redis.call('zadd', KEYS[3], time[1], ARGV[6])
local last = redis.call('zscore', KEYS[3], ARGV[6])
if time[1] - last > 5 then
  return reset
end
if ARGV[7] == 'seconds' then
  redis.call('expire', KEYS[1], ttl)
else
  redis.call('pexpire', KEYS[1], ttl)
end
redis.call('pexpire', KEYS[1], size * 1000)
local micros = time[1] * 1000000 + time[2]
redis.call('zremrangebyscore', KEYS[4], 0, micros - ARGV[8] * 1000)
redis.call('pexpire', KEYS[1], 500)
redis.call('expire', KEYS[1], 86400)
redis.call('expire', KEYS[1], 10000)
redis.call('pexpire', KEYS[1], 1, 'gt')
local micros_left = ARGV[9]
redis.call('pexpire', KEYS[1], math.ceil(micros_left / 1000))
redis.call('zremrangebyscore', KEYS[5], 0, micros - micros_left)
redis.call('pexpire', KEYS[1], math.max(1, tonumber(ARGV[10])))
return nil
