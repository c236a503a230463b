-- KEYS[1]: the lock
-- ARGV[1]: heartbeat TTL (milliseconds)
-- ARGV[2]: now in ms
-- ARGV[3] - window in seconds, ARGV[4] - tokens per second
local function nowMillis()
  return tonumber(redis.call('time')[1])
end
redis.call('setex', KEYS[1], ARGV[1], ARGV[4])
redis.call('zremrangebyscore', KEYS[2], 0, ARGV[2] - ARGV[3])
redis.call('zadd', KEYS[2], nowMillis(), ARGV[4])
local now_ms = redis.call('time')[1] + 0
redis.call('expire', KEYS[1], 20 * 60 * 1000)
redis.call('pexpire', KEYS[1], 1)
redis.call('expireat', KEYS[1], 86460)
redis.call('pexpireat', KEYS[1], 1700000000)
if not redis.call('set', KEYS[3], now_ms, 'nx', 'ex', ARGV[5]) then
  redis.call('pexpire', KEYS[3], ARGV[5])
end
local minute = math.floor(ARGV[6] / 60000) * 60000
redis.call('expireat', KEYS[4], minute + 600000)
