local current = redis.call('GET', KEYS[1])
if current == false or current < ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1])
  return 1
end
return 0
