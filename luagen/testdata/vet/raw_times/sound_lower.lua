local now, next, most = tonumber(ARGV[1]), tonumber(ARGV[2]), (2 ^ 53) - 1
redis.call('pexpire', KEYS[1], (next + ARGV[3]) - now)
redis.call('pexpire', KEYS[2], math.min(ARGV[4], most))
if next > now then
  redis.call('set', KEYS[3], '1', 'PX', next - now)
end
local left = tonumber(ARGV[5]) - now
if left > 0 then
  redis.call('set', KEYS[3], '1', 'PX', left)
end
math.randomseed(now)
redis.call('expire', KEYS[4], 60 + math.random(10))
redis.call('expire', KEYS[4], 86400 / 2)
return 1
