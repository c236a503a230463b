local last = redis.call('hmget', KEYS[1], 'window', 'count', 'prev')
redis.call('hset', KEYS[1], 'window', ARGV[1], 'count', ARGV[2], 'previous', ARGV[3])
return last
