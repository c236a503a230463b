local minute = math.floor(ARGV[1] / 60000)
if redis.call('exists', KEYS[1] .. ':' .. minute) ~= 1 then
  redis.call('set', KEYS[1] .. ':' .. minute, 1)
else
  redis.call('incr', KEYS[1] .. ':' .. minute)
  redis.call('expire', KEYS[1] .. ':' .. minute, 600)
end
