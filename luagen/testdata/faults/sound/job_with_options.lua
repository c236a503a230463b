local opts = cjson.decode(ARGV[2])
local delay = tonumber(opts.delay) or 0
redis.call('HSET', KEYS[1], 'data', ARGV[1], 'delay', delay, 'opts', ARGV[2])
if delay > 0 then
  redis.call('ZADD', KEYS[2], tonumber(ARGV[3]) + delay, ARGV[4])
else
  redis.call('LPUSH', KEYS[3], ARGV[4])
end
return delay
