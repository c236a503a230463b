-- A key, and a command, that the caller chooses.
redis.call('sadd', KEYS[1], ARGV[1])
redis.call('set', ARGV[1], ARGV[2])
return redis.call(ARGV[3], KEYS[1])
