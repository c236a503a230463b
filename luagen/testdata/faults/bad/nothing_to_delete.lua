local names = redis.call('smembers', KEYS[1])
local gone = redis.call('hdel', KEYS[2], unpack(names))
return gone
