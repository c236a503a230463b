-- HSET of any field: the hash has those of all callers, and outlives each of them.
redis.call('hset', KEYS[1], ARGV[1] .. ':state', ARGV[2])
redis.call('hset', KEYS[2], 'state', ARGV[2])
redis.call('expire', KEYS[2], 60)
return 1
