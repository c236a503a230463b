local raw = redis.call('HGET', KEYS[1], 'opts')
local opts = raw and cjson.decode(raw) or {}
local delay = tonumber(opts.delay) or 0
if delay > 0 then
  redis.call('ZADD', KEYS[2], tonumber(ARGV[1]) + delay, ARGV[2])
else
  redis.call('LPUSH', KEYS[3], ARGV[2])
end
return delay
