local sum = 0
for _, v in ipairs(redis.call('HVALS', KEYS[1])) do sum = sum + tonumber(v) end
redis.call('HSET', KEYS[1], ARGV[1], 1)
if sum > 0 then return sum end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
