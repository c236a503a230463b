-- KEYS[3]: where the members go
local all = redis.call('hgetall', KEYS[1])
local sum, name = {unpack({ARGV[1]}), (unpack(ARGV))}, false
for i, x in ipairs(all) do
  if i % 2 == 0 then redis.call('sadd', KEYS[3], x) end
end
for _, x in ipairs(all) do
  if name then redis.call('sadd', KEYS[3], name .. x) end
  name = not name and x
end
for i = 1, #all, 2 do redis.call('lpush', KEYS[4], all[i]) end
for i = 0, #all - 1 do redis.call('lpush', KEYS[4], all[i + 1]) end
for i = 0, #KEYS do
  if i > 0 then redis.call('touch', KEYS[i]) end
end
for _, x in ipairs(all) do sum[#sum + 1] = x end
local length = #all
if not all or length == 0 or #all / 2 > tonumber(ARGV[1]) then return 0 end
local ttl = redis.call('pttl', KEYS[5])
redis.call('incr', KEYS[5])
if ttl == -2 then redis.call('pexpire', KEYS[5], 60000) end
return #redis.call('zrange', KEYS[2], 0, 0, 'WITHSCORES')
