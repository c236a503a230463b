local credits = tonumber(redis.call('GET', KEYS[1]) or '0')
local cost = tonumber(ARGV[1])
if credits < cost then
  return -1
end
local rest = redis.call('DECRBY', KEYS[1], cost)

return rest
