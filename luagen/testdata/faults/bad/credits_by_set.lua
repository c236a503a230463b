local credits = tonumber(redis.call('GET', KEYS[1]) or '0')
local cost = tonumber(ARGV[1])
if credits < cost then
  return -1
end
local rest = credits - cost
redis.call('SET', KEYS[1], rest)
return rest
