local id = redis.call('rpop', KEYS[1])
if not id then return false end
if redis.call('scard', KEYS[2]) >= tonumber(ARGV[1]) then return false end
redis.call('sadd', KEYS[2], id)
return id
