local taken = redis.call('set', KEYS[1], ARGV[1], 'nx')
if not taken then
  redis.call('expire', KEYS[1], 60)
  return 0
end
return 1
