local ids = redis.call('LRANGE', KEYS[1], 0, 999)
for i = 1, #ids, 100 do
  redis.call('RPUSH', KEYS[2], unpack(ids, i, math.min(#ids, i + 100)))
end
for i = 1, #ARGV, 1000 do
  redis.call('RPUSH', KEYS[2], unpack(ARGV, i, i + 999))
end
