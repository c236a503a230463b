local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', 1000, '*', 'kind', ARGV[1], 'data', ARGV[2])
redis.call('HSET', KEYS[2], ARGV[1], id)
return id
