local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('pexpire', KEYS[1], math.ceil(capacity / rate) * 1000)
redis.call('expire', KEYS[2], math.max(1, math.floor(capacity / rate)))
redis.call('expire', KEYS[2], math.floor(capacity / rate) + 1)
local ttl = math.floor(capacity / rate * 2)
if ttl > 0 then
  redis.call('setex', KEYS[3], ttl, 'full')
end
local wait = capacity / rate
if capacity >= rate then
  redis.call('expire', KEYS[4], math.floor(wait))
end
local pause, delay = tonumber(ARGV[3]), tonumber(ARGV[4])
if pause <= 0 then
  return 0
end
redis.call('expire', KEYS[5], pause)
if delay > 0 then
  redis.call('expire', KEYS[5], delay)
end
redis.call('expire', KEYS[5], math.max(1, delay))
redis.call('expire', KEYS[5], math.max(1, (delay - delay % 60) / 60))
local periods = delay / 60
redis.call('expire', KEYS[5], math.max(1, periods - periods % 1))
if capacity < rate then
  return 0
end
redis.call('expire', KEYS[5], math.floor(capacity / rate))
if capacity % rate == 0 then
  redis.call('expire', KEYS[5], capacity / rate)
end
if delay == math.floor(delay) then
  redis.call('expire', KEYS[5], math.max(1, delay))
end
local left = redis.call('ttl', KEYS[6])
local lasts = left > 0
if lasts then
  redis.call('expire', KEYS[7], left)
end
redis.call('set', KEYS[8], 'v', 'ex', 10)
redis.call('expire', KEYS[7], redis.call('ttl', KEYS[8]))
return tostring(wait)
