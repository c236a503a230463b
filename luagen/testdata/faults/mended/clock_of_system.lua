local now = redis.call('TIME')[1]
redis.call('HSET', KEYS[1], 'seen', now)
return redis.call('HLEN', KEYS[1])
