redis.call('sadd', KEYS[1], ARGV[1])
redis.call('expire', KEYS[1], ARGV[2], 'GT')
redis.call('incr', KEYS[2])
if redis.call('ttl', KEYS[2]) == -2 then
  redis.call('expire', KEYS[2], ARGV[2])
end
local now = tonumber(redis.call('time')[1])
redis.call('pexpireat', KEYS[3], now - now % 60 + 60)
return 1
