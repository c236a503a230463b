-- KEYS[1]: mutex, KEYS[2]: lease
if redis.call('setnx', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('exists', KEYS[2]) == 1 then return 0 end
redis.call('set', KEYS[2], ARGV[1])
return 1
