redis.call('set', KEYS[1], ARGV[1])
redis.call('publish', KEYS[1] .. ':changed', ARGV[1])
