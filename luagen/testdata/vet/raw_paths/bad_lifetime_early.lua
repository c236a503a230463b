redis.call('sadd', KEYS[1], ARGV[1])
local t = redis.call('pttl', KEYS[1])
if t < 0 then return 0 end
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
