local interval = tonumber(ARGV[1]) -- milliseconds
local limit = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - interval)
local usage = redis.call('ZCARD', KEYS[1])
if usage < limit then
  redis.call('ZADD', KEYS[1], now, ARGV[3])
  redis.call('PEXPIRE', KEYS[1], interval)
end
return usage
