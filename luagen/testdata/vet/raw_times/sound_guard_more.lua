-- ARGV[3]: seconds, 0 for none
local left = tonumber(ARGV[1]) - tonumber(ARGV[2])
if left > 0 then
  redis.call('set', KEYS[1], 'v', 'px', left)
end
local rest = redis.call('pttl', KEYS[2])
if rest > 0 then
  redis.call('pexpire', KEYS[1], rest)
end
if ARGV[3] and ARGV[3] ~= '0' then
  redis.call('expire', KEYS[3], ARGV[3])
end
