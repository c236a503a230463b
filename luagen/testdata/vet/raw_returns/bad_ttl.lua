local n = redis.call('incr', KEYS[1])
if redis.call('ttl', KEYS[1]) == -2 then redis.call('expire', KEYS[1], 5) end
return n
