local user = cjson.decode(redis.call('GET', KEYS[1]) or '{}')
user.seen = tonumber(ARGV[1])
redis.call('SET', KEYS[1], cjson.encode(user))
return user.seen
