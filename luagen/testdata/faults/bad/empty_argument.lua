local data = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1])
if ARGV[2] then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return data
