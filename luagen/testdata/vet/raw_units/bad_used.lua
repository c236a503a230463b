local window, delay, ttl, size = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('time')
local reset = math.ceil((ARGV[5] + window) / 1000)
redis.call('expire', KEYS[1], window)
redis.call('zadd', KEYS[2], time[1] * 1000, ARGV[6])
redis.call('zremrangebyscore', KEYS[2], 0, '(' .. time[1] - delay)
local last = redis.call('zscore', KEYS[2], ARGV[6])
if time[1] - last > 5 then
  return reset
end
redis.call('expire', KEYS[1], ttl)
if redis.call('pttl', KEYS[1]) > ttl then
  return reset
end
redis.call('expire', KEYS[1], size * 1000)
redis.call('pexpire', KEYS[1], 3600)
redis.call('expire', KEYS[1], 300000)
redis.call('psetex', KEYS[1], '5', 'v')
local left_ns = tonumber(ARGV[7])
redis.call('set', KEYS[3], 'v', 'ex', string.format('%d', math.max(left_ns / 1000000, 1)))
local job = cjson.decode(ARGV[8])
local life = job.life
redis.call('pexpire', KEYS[1], life)
redis.call('setex', KEYS[3], life, 'v')
redis.call('expire', KEYS[1], 5 * 1000)
return 0
