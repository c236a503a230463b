local names, gone = redis.call('smembers', KEYS[1]), 0
for _, name in ipairs(names) do gone = gone + redis.call('hdel', KEYS[2], name) end
return gone
