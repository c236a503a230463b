local opts = cjson.decode(redis.call('HGET', KEYS[1], 'opts'))
local delay = opts['delay'] or 0
redis.call('ZADD', KEYS[2], tonumber(ARGV[1]) + delay, ARGV[2])
return delay
