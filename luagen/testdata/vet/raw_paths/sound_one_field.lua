redis.call('HSET', KEYS[1], ARGV[1], 1)
local f = redis.call('HGETALL', KEYS[1])
if #f == 2 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
