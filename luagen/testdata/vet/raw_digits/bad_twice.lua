local function plain(x) return tostring(tonumber(x)) end
redis.call('hset', KEYS[1], 'price', plain(ARGV[1]))
return plain(redis.call('hget', KEYS[1], 'price'))
