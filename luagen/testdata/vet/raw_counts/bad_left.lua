local left = tonumber(redis.call('get', KEYS[1]) or '0')
if left <= 0 then return 0 end
redis.call('decrby', KEYS[1], ARGV[1])
local rest = tonumber(redis.call('hget', KEYS[2], ARGV[2]) or '0')
if rest >= 1 then redis.call('hincrby', KEYS[2], ARGV[2], -tonumber(ARGV[1])) end
if redis.call('zcard', KEYS[3]) < tonumber(ARGV[3]) then
  redis.call('zremrangebyscore', KEYS[3], '-inf', ARGV[4])
  redis.call('zadd', KEYS[3], ARGV[5], ARGV[6])
end
local all = redis.call('smembers', KEYS[4])
return all[math.random(#all)]
