local lock = KEYS[1]
if redis.call('exists', lock) == 0 then return 0 end
redis.call('pexpire', lock, ARGV[1])
return redis.call('del', lock)
