local now, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('SREM', KEYS[1], ARGV[3])
redis.call('DECR', KEYS[2])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if redis.call('ZCARD', KEYS[3]) >= 5 then return 0 end
redis.call('ZADD', KEYS[3], now + lease, ARGV[4])
redis.call('PEXPIRE', KEYS[3], lease)
local state = redis.call('HGET', KEYS[4], 'state')
if state == 'half' then
  if redis.call('HINCRBY', KEYS[4], 'passed', 1) >= 3 then return 1 end
end
if state ~= 'open' then
  redis.call('HSET', KEYS[4], 'state', 'open', 'failed', 0)
end
if redis.call('DECR', KEYS[5]) == 0 then redis.call('DEL', KEYS[5]) end
return 1
