-- The SET of each call drops the expiry, which the first call alone gives.
local cur = tonumber(redis.call('get', KEYS[1]) or '0')
redis.call('set', KEYS[1], cur + 1)
if cur == 0 then redis.call('expire', KEYS[1], ARGV[1]) end
return 1
