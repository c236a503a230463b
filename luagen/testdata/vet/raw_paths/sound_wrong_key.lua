-- The log and the statistics stay. The session and the state were there before.
local session = redis.call('get', KEYS[1])
if not session then return false end
redis.call('rpush', KEYS[2], session)
redis.call('expire', KEYS[1], 60)
redis.pcall('rename', KEYS[3], KEYS[4])
redis.call('hset', KEYS[5], 'last', ARGV[1])
redis.call('expire', KEYS[4], 60)
redis.pcall('rename', KEYS[6], KEYS[4])
redis.call('expire', KEYS[4], 60)
return session
