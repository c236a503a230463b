if redis.call('exists', KEYS[1]) == 0 then
end
return redis.call('incr', KEYS[1])
