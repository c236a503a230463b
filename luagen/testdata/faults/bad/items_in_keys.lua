local now = tonumber(KEYS[2])
local limit = tonumber(KEYS[3])
local count = redis.call('ZCOUNT', KEYS[1], now - 1000, now)
if count >= limit then
  return 0
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], 1000)
return 1
