local now = tonumber(redis.call('TIME')[1])
local window, life = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
redis.call('SET', KEYS[2], ARGV[3], 'PX', life * 1000)
redis.call('PEXPIRE', KEYS[3], life)
local since = now - tonumber(redis.call('GET', KEYS[4]) or '0')
if since > tonumber(ARGV[4]) then
  redis.call('PSETEX', KEYS[4], ARGV[4], now)
end
local t = redis.call('TIME')
local millis = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('EXPIRE', KEYS[5], ARGV[5])
return millis - ARGV[5]
