local ids, size, all = redis.call('LRANGE', KEYS[1], 0, 999), 100, redis.call('HGETALL', KEYS[3])
for i = 1, #ids, 100 do
  redis.call('RPUSH', KEYS[2], unpack(ids, i, math.min(#ids, i + 99)))
end
for i = 1, #ids, size do
  local last = i + size - 1
  if last > #ids then last = #ids end
  redis.call('RPUSH', KEYS[2], unpack(ids, i, last))
end
for i = 1, #all, 2 do
  redis.call('HSET', KEYS[4], unpack(all, i, i + 1))
end
for i = 1, #ARGV, 3 do
  redis.call('HSET', ARGV[i], unpack(ARGV, i + 1, i + 2))
end
