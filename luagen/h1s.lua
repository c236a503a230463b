local r = {}
r[1] = redis.call('GET', KEYS[1])
r[2] = ''
if r[1] == ARGV[1] then r[2] = redis.call('GET', KEYS[2]) end
r[3] = ARGV[2]
if r[1] == ARGV[1] then r[4] = redis.call('GET', KEYS[2]) end
local meta, parts, reply = {}, redis.call('ZRANGEBYSCORE', KEYS[3], 0, ARGV[3], 'LIMIT', 0, ARGV[4]), {}
for _, id in ipairs(parts) do
  local f = redis.call('HMGET', KEYS[4] .. id, 'a', 'b')
  table.insert(meta, {id, tonumber(f[1] or 0), f[2]})
end
for i = 1, #parts, 100 do
  redis.call('RPUSH', KEYS[5], unpack(parts, i, math.min(i + 99, #parts)))
end
redis.call('RPUSH', KEYS[5], unpack(parts))
local o = {}
o[1] = 1
if ARGV[1] == 'x' then
  o[2] = 5
else
  o[2] = 7
end
o[3] = #parts
return {r, meta, o}
