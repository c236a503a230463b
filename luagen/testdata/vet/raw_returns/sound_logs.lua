-- Branches that log and return, log for a reader of the code, or log where nothing is written behind them.
local owner, left = redis.call('GET', KEYS[1]), tonumber(redis.call('GET', KEYS[2]) or 0)
if owner ~= ARGV[1] then
  redis.log(redis.LOG_WARNING, 'lost')
  return 0
end
if left < 0 then redis.log(redis.LOG_DEBUG, 'broken') end
redis.call('INCRBY', KEYS[2], ARGV[2])
if redis.call('SCARD', KEYS[3]) > tonumber(ARGV[3]) then redis.log(redis.LOG_NOTICE, 'many') end
return 1
