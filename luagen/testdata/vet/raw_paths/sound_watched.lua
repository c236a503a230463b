-- A stock that another script gave its expiry, and a counter that starts again.
redis.call('decr', KEYS[1])
redis.call('sadd', KEYS[2], ARGV[1])
redis.call('expire', KEYS[2], math.max(1, redis.call('ttl', KEYS[1])))
if tonumber(redis.call('get', KEYS[3]) or 0) >= 1000 then
  redis.call('set', KEYS[3], 1)
else
  redis.call('incr', KEYS[3])
end
return 1
