redis.call('expire', KEYS[1], ARGV[2], 'GT')
redis.call('sadd', KEYS[1], ARGV[1])
redis.call('incr', KEYS[2])
if redis.call('ttl', KEYS[2]) == -1 then
  redis.call('expire', KEYS[2], ARGV[2])
end
if redis.call('ttl', KEYS[4]) == -2 then
  redis.call('set', KEYS[4], '1', 'EX', 60)
end
local now = tonumber(redis.call('time')[1])
redis.call('expireat', KEYS[3], now - now % 60 + 60)
return 1
