local n = redis.call('incr', KEYS[1])
if n > 3 then return {err = 'TOOMANY no more'} end
redis.call('lrange', KEYS[2], 0, -1)
return {allowed = 1, n}
