redis.call('sadd', KEYS[1], ARGV[1])
local t = redis.call('pttl', KEYS[1])
if t > 0 and t < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
