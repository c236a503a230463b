-- More ways lead to each place than there are states: they join, and what one of them lacks is still found.
local mode, most, wait, by, to, left = 'a', 1, 2, 3, 4
if ARGV[1] == 'x' then mode = 'b' end
if ARGV[2] == 'x' then most = 10 end
if ARGV[3] == 'x' then wait = 20 end
if ARGV[4] == 'x' then by = 30 end
if redis.call('exists', KEYS[1]) == 0 then to = 40 end
if redis.call('llen', KEYS[4]) > most then left = 5 end
local n = redis.call('incrby', KEYS[2], by)
if redis.call('exists', KEYS[3]) == 1 then
  redis.call('expire', KEYS[2], wait)
end
redis.call('publish', KEYS[1], mode .. n + to + left)
redis.call('rpush', KEYS[4], tonumber(ARGV[5]) == 1)
return wait
