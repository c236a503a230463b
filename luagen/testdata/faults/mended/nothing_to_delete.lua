local names = redis.call('smembers', KEYS[1])
local gone = #names > 0 and redis.call('hdel', KEYS[2], unpack(names)) or 0
return gone
