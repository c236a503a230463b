redis.call('SET')
if redis.call('INCR', KEYS[1]) > 1 or redis.call() ~= 1 then
  return redis.call('ZRANGE', KEYS[1], 0)
end
return redis.call('EXPIRE', KEYS[1], 9)
