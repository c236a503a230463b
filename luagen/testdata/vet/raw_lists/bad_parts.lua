-- Whole lists where parts are meant, and lists with holes.
local first, second, third, due = {}, {}, {}, redis.call('ZRANGEBYSCORE', KEYS[3], 0, ARGV[3], 'LIMIT', 0, ARGV[4])
for i = 1, #due, 100 do
  redis.call('RPUSH', KEYS[4], unpack(due))
end
local stale, all = {}, redis.call('HGETALL', KEYS[5])
for i = 1, #all, 2 do
  if redis.call('EXISTS', KEYS[6] .. all[i]) == 0 then stale[#stale + 1] = all[i] end
end
redis.call('HDEL', KEYS[5], unpack(stale))
first[1] = redis.call('GET', KEYS[1])
if first[1] == ARGV[1] then first[2] = redis.call('GET', KEYS[2]) end
first[3] = ARGV[2]
second[1] = 1
if #stale > 0 then
  second[2] = stale[1]
end
if ARGV[5] then second[3] = 1 else second[3] = 2 end
second[4] = #stale
local count = redis.call('HMGET', KEYS[7], 'left', 'of')
third[#third + 1] = {ARGV[1], tonumber(count[1]), count[2]}
return {first, second, third}
