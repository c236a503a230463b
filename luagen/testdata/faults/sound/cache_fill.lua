local value = redis.call('GET', KEYS[1])
if value then
  return value
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return ARGV[1]
