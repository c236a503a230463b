-- KEYS[1]: the lock
-- ARGV[1]: heartbeat TTL (milliseconds)
-- ARGV[2]: now in ms
-- ARGV[3] - window in seconds, ARGV[4] - most calls in the last 60 seconds
-- ARGV[5]: tokens in ms per second
-- ARGV[6]: the second limit, in seconds or ms by ARGV[7]
local function nowMillis()
  return redis.call('time')[1] * 1000
end
redis.call('psetex', KEYS[1], ARGV[1], ARGV[8])
redis.call('zremrangebyscore', KEYS[2], 0, ARGV[2] - ARGV[3] * 1000)
redis.call('zadd', KEYS[2], nowMillis() - ARGV[1], ARGV[8])
redis.call('pexpire', KEYS[2], ARGV[4])
redis.call('pexpire', KEYS[2], ARGV[5])
redis.call('expire', KEYS[1], 20 * 60)
redis.call('pexpire', KEYS[1], 20 * 60 * 1000)
redis.call('pexpire', KEYS[1], 500)
redis.call('expire', KEYS[1], 1)
redis.call('expireat', KEYS[1], 1700000000)
redis.call('pexpireat', KEYS[1], 1700000000000)
if ARGV[7] == 'ms' then
  redis.call('pexpire', KEYS[3], ARGV[6])
  return 0
end
redis.call('expire', KEYS[3], ARGV[6])
redis.call('set', KEYS[4], 1, ARGV[7], ARGV[1])
redis.call('expire', KEYS[4], ARGV[9])
local minute = math.floor(ARGV[10] / 60000) * 60000
redis.call('pexpireat', KEYS[4], minute + 600000)
redis.call('expireat', KEYS[4], math.floor((minute + 600000) / 1000))
redis.call('zadd', KEYS[5], 1, math.floor(ARGV[10] / 3600000))
redis.call("pexpire", KEYS[4], (ARGV[11] * 1000) + ARGV[1])
return redis.call('pexpire', KEYS[4], ARGV[9] * 1000)
