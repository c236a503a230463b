if redis.call('get', KEYS[1]) then return 'FAILURE' end
if redis.call('get', KEYS[2]) then return 'DUPLICATE' end
redis.call('incr', KEYS[1])
