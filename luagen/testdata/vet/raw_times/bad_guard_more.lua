-- ARGV[3]: seconds, 0 for none
local left = tonumber(ARGV[1]) - tonumber(ARGV[2])
if left >= 0 then
  redis.call('set', KEYS[1], 'v', 'px', left)
end
if ARGV[3] then
  redis.call('expire', KEYS[2], ARGV[3])
end
local rest = redis.call('pttl', KEYS[2])
if rest >= 0 then
  redis.call('pexpire', KEYS[1], rest)
end
for i = 3, #KEYS do
  local each = tonumber(ARGV[i + 1])
  if each then
    redis.call('expire', KEYS[i], each)
  end
end
-- ARGV[9]: seconds, 0 = disable
local idle = tonumber(ARGV[9])
if idle then
  redis.call('pexpire', KEYS[1], idle * 1000)
end
