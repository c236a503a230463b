local a, b, c = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if a then
  redis.call('expire', KEYS[1], a)
end
if redis.call('incr', KEYS[2]) == 1 and b ~= nil then
  redis.call('expire', KEYS[2], b)
end
if c >= 0 then
  redis.call('set', KEYS[3], 'v', 'ex', c)
end
if tonumber(ARGV[4]) then
  redis.call('pexpire', KEYS[1], tonumber(ARGV[4]))
end
local e, score = tonumber(ARGV[5]), 0
if ARGV[6] == 'x' and e and e > 0 then
  score = e
end
redis.call('zadd', KEYS[4], score, ARGV[6])
if e and e >= 0 then
  redis.call('pexpire', KEYS[4], e)
end
