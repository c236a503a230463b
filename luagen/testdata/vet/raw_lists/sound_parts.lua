-- The same by parts, and without holes.
local first, second, due = {}, {}, redis.call('ZRANGEBYSCORE', KEYS[3], 0, ARGV[3], 'LIMIT', 0, ARGV[4])
for i = 1, #due, 100 do
  redis.call('RPUSH', KEYS[5], unpack(due, i, math.min(i + 99, #due)))
end
if #due > 0 then redis.call('RPUSH', KEYS[4], unpack(due)) end
first[1] = redis.call('GET', KEYS[1])
first[2] = ''
if first[1] == ARGV[1] then first[2] = redis.call('GET', KEYS[2]) end
first[3] = ARGV[2]
if first[1] == ARGV[1] then first[4] = redis.call('GET', KEYS[2]) end
second[1] = 1
if ARGV[1] == 'x' then
  second[2] = 5
else
  second[2] = 7
end
second[3] = {ARGV[1], tonumber(redis.call('GET', KEYS[1]) or 0), #due}
return {first, second}
