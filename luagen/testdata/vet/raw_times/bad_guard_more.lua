-- ARGV[3]: seconds, 0 for none
local left = tonumber(ARGV[1]) - tonumber(ARGV[2])
if left >= 0 then
  redis.call('set', KEYS[1], 'v', 'px', left)
end
if ARGV[3] then
  redis.call('expire', KEYS[3], ARGV[3])
end
