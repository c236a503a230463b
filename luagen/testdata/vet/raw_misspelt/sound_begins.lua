local last = redis.call('hmget', KEYS[1], 'lockOwner', 'count', 'max')
redis.call('hset', KEYS[1], 'lockUntil', ARGV[1], 'count', ARGV[2])
redis.call('hset', KEYS[2], 'seen', ARGV[1], 'start', ARGV[2], 'left', ARGV[3])
return {last, redis.call('hget', KEYS[2], 'max')}
