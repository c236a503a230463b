-- It has no keys at all: no client can know the node that it is for.
redis.call('set', 'count', redis.call('incr', ARGV[1]))
return redis.call('get', 'jobs:' .. ARGV[2])
