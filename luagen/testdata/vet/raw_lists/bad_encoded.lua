local t = cjson.decode(ARGV[1])
t[#t + 1] = redis.call('sunion', KEYS[1], cjson.encode(t), cjson.encode(t))
for k, v in pairs(redis.call('smembers', cjson.encode(t))) do t[k] = v end
return redis.call('set', KEYS[2], cjson.encode(t))
