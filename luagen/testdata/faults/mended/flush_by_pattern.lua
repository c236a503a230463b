local tags = redis.call('HKEYS', KEYS[1])
local gone = 0 for _, tag in ipairs(tags) do gone = gone + redis.call('HDEL', KEYS[1], tag) end
return gone
