local event = cjson.encode({id = ARGV[1], state = ARGV[2]})
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 1000, '*', 'event', event)
redis.call('PUBLISH', ARGV[3], event)
return 1
