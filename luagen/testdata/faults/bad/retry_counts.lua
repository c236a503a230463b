local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '0', ARGV[1], 'LIMIT', 0, 100)
if #ids == 0 then return 0 end
local counts = redis.call('HMGET', KEYS[2], unpack(ids))
local retry = 0
for i, count in ipairs(counts) do
  if tonumber(count) > 0 then
    redis.call('LPUSH', KEYS[3], ids[i])
    retry = retry + 1
  end
end
return retry
