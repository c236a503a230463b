redis.call('RPUSH', KEYS[1], ARGV[1])
if redis.call('LLEN', KEYS[1]) > 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
