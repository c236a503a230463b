local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('pexpire', KEYS[1], capacity / rate * 1000)
redis.call('expire', KEYS[2], math.floor(capacity / rate))
redis.call('setex', KEYS[3], math.floor(capacity / rate * 2), 'full')
local pause = tonumber(ARGV[4])
if pause > 0 then
  redis.call('expire', KEYS[1], pause)
end
redis.call('expire', KEYS[2], pause)
