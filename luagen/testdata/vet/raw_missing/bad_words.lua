redis.call('sadd', KEYS[1], ARGV)
return redis.call('del', KEYS)
