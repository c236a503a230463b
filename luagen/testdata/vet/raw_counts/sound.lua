local n = redis.call('incr', KEYS[1])
if n > tonumber(ARGV[1]) then
  redis.call('decr', KEYS[1])
  return 0
end
if redis.call('zrem', KEYS[2], ARGV[2]) == 1 then redis.call('decr', KEYS[3]) end
if redis.call('sismember', KEYS[4], ARGV[3]) == 1 then return redis.error_reply('TWICE') end
redis.call('sadd', KEYS[4], ARGV[3])
redis.call('incr', KEYS[5])
local id = redis.call('rpop', KEYS[6])
if id then
  redis.call('zrem', KEYS[7], id)
  redis.call('decr', KEYS[8])
end
local seq = redis.call('incr', KEYS[9])
redis.call('zadd', KEYS[10], seq, ARGV[4])
local refs = redis.call('decr', KEYS[11])
if refs > 0 then return refs end
redis.call('del', KEYS[11])
local fails = redis.call('incr', KEYS[12])
if fails < tonumber(ARGV[5]) then return 0 end
redis.call('set', KEYS[12], 0)
return 1
