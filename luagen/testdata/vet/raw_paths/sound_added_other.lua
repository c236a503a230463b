local n = redis.call('INCRBY', KEYS[1], ARGV[1])
if tonumber(n) ~= tonumber(ARGV[1]) then return n end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return n
