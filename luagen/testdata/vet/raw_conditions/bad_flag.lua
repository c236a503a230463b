local on = ARGV[1]
if on then redis.call('sadd', KEYS[1], ARGV[2]) else redis.call('srem', KEYS[1], ARGV[2]) end
return 1
