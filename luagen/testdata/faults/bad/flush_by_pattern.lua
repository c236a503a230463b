local tags = redis.call('HKEYS', KEYS[1])
local gone = redis.call('HDEL', KEYS[1], unpack(tags))
return gone
