-- KEYS[3]: where the members go
local all = redis.call('hgetall', KEYS[1])
local sum = 0
for _, x in ipairs(all) do sum = sum + tonumber(x) end
local top = redis.call('zrevrange', KEYS[2], 0, 9, 'WITHSCORES')
for i = 1, #top do
  if redis.call('sismember', KEYS[3], top[i]) == 0 then redis.call('sadd', KEYS[3], top[i]) end
end
if #top > tonumber(ARGV[1]) then return {sum, #all} end
if all == nil then return 0 end
for _, id in ipairs(redis.call('zpopmin', KEYS[2], 3)) do redis.call('lpush', KEYS[4], 'id:' .. id) end
return #all
