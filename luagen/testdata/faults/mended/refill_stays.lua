local max = tonumber(ARGV[1])
local tokens = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
local last = tonumber(redis.call('GET', KEYS[2]) or ARGV[2])
local refill = math.floor((ARGV[2] - last) / ARGV[3])
tokens = math.min(max, tokens + refill)
if tokens < 1 then
  return 0
end
redis.call('SET', KEYS[1], tokens - 1, 'PX', max * ARGV[3])
redis.call('SET', KEYS[2], last + refill * ARGV[3], 'PX', max * ARGV[3])
return tokens
