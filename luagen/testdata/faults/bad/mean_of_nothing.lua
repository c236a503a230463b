local sum, times = 0, redis.call('LRANGE', KEYS[1], 0, 99)
for i = 1, #times do
  sum = sum + times[i]
end
redis.call('SET', KEYS[2], cjson.encode({mean = sum / #times}))
return #times
