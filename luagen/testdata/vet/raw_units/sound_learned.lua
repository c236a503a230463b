local t = redis.call('TIME')
local now, window, life = tonumber(t[1]), tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], window * 1000)
redis.call('EXPIRE', KEYS[1], window + 1)
redis.call('PEXPIRE', KEYS[2], life)
redis.call('EXPIRE', KEYS[3], math.max(1, math.ceil(life / 1000)))
local millis = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[4], 0, millis - life)
if ARGV[5] == 'PX' then
  redis.call('PEXPIRE', KEYS[5], ARGV[4])
else
  redis.call('EXPIRE', KEYS[5], ARGV[4])
end
local i = 1
i = i + 1
if i > now then
  redis.call('EXPIRE', KEYS[5], math.max(1, i))
end
return millis - window * 1000
