local left = redis.call('decrby', KEYS[1], ARGV[1])
if left < 0 then return 0 end
local used = redis.call('hincrby', KEYS[2], 'used', ARGV[1])
if used <= tonumber(ARGV[2]) then
  redis.call('zadd', KEYS[3], ARGV[3], ARGV[4])
  if redis.call('zcard', KEYS[3]) > tonumber(ARGV[5]) then return redis.error_reply('FULL') end
  return {1, used}
end
return {0, used}
