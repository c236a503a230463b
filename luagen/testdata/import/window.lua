-- KEYS[1]: the counter
-- KEYS[2]: log:{x}:<day>
-- ARGV[1] - window (in ms)
-- ARGV[2] = limit
-- ARGV[3] the type
local limit = tonumber(ARGV[2])
local n = redis.call('incr', KEYS[1])
if n == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
redis.call('rpush', KEYS[2], ARGV[3])
redis.call('publish', ARGV[5], n)
if n > limit then
  return 0
end
return 1
