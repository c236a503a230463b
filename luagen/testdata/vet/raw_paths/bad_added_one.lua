local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n
