redis.call('sadd', KEYS[1], ARGV[1])
redis.call('expire', KEYS[1], ARGV[2], 'GT')
local now = tonumber(redis.call('time')[1])
redis.call('pexpireat', KEYS[3], now - now % 60 + 60)
return 1
