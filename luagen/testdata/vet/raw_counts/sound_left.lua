-- KEYS[3]: counter of this minute
local amount = tonumber(ARGV[1])
if amount <= 0 then return 0 end
local left = tonumber(redis.call('get', KEYS[1]) or '0')
if left - amount < 0 then return 0 end
redis.call('decrby', KEYS[1], amount)
local rest = tonumber(redis.call('get', KEYS[2]) or '0')
if rest <= 0 then return 0 end
redis.call('decrby', KEYS[2], math.min(rest, 5))
if redis.call('setnx', KEYS[4], ARGV[2]) == 1 then redis.call('expire', KEYS[4], 60) end
if redis.call('zcard', KEYS[5]) >= 100 then
  redis.call('zremrangebyscore', KEYS[5], '-inf', ARGV[3])
  if redis.call('zcard', KEYS[5]) >= 100 then return redis.error_reply('FULL') end
end
local n = redis.call('incr', KEYS[3])
redis.call('expire', KEYS[3], 120)
if n > tonumber(ARGV[4]) then return 0 end
math.randomseed(ARGV[5])
return math.random(9)
