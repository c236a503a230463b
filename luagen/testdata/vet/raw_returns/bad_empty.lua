if redis.call('exists', KEYS[1]) == 0 then
end
if redis.call('exists', KEYS[2]) == 0 then
  -- return -1
end
return redis.call('incr', KEYS[1])
