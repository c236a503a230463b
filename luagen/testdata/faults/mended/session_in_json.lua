local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local session = cjson.decode(text)
session.n = tonumber(ARGV[1])
redis.call('SET', KEYS[1], cjson.encode(session), 'KEEPTTL')
return 1
