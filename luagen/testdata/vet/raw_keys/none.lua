-- It has no keys at all: it is meant for one server.
redis.call('set', 'count', redis.call('incr', ARGV[1]))
return redis.call('get', 'jobs:' .. ARGV[2])
