local n = redis.call('INCRBY', KEYS[1], 2)
if n == 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n
