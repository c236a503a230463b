#!lua flags=allow-oom,no-writes
return redis.call('set', KEYS[1], ARGV[1])
