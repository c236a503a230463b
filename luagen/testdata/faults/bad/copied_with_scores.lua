local all = redis.call('ZRANGE', KEYS[1], 0, 99, 'WITHSCORES')
if #all == 0 then return 0 end
local args = {}
for i = 1, #all do
  args[i] = all[i]
end
return redis.call('ZADD', KEYS[2], unpack(args))
