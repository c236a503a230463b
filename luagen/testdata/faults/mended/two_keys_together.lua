local tokens = redis.call('GET', KEYS[1])
if not tokens then
  tokens = ARGV[1]
  redis.call('SET', KEYS[2], ARGV[2])
end
local elapsed = tonumber(ARGV[2]) - tonumber(redis.call('GET', KEYS[2]) or ARGV[2])
if elapsed > 1000 then
  tokens = ARGV[1]
end
redis.call('SET', KEYS[1], tokens - 1)
return tonumber(tokens)
