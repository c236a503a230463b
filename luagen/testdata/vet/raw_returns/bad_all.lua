local n = redis.call('incr', KEYS[1])
if n > 5 then return {0, n} end
if n > 3 then return {1, n} end
