local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local passed = ARGV[1] - (bucket[2] or ARGV[1])
local tokens = (bucket[1] or 0) + math.floor(passed / ARGV[2]) * ARGV[3]
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', ARGV[1] - passed % ARGV[2])
redis.call('HINCRBY', KEYS[1], 'tokens', -1)
return 1
