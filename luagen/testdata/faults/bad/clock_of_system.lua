local now = os.time()
redis.call('HSET', KEYS[1], 'seen', now)
return redis.call('HLEN', KEYS[1])
