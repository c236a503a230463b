local id = ARGV[1]
redis.call('SET', KEYS[1], cjson.encode({id = id, state = ARGV[2]}))
return 1
