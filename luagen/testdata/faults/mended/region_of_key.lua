local result = redis.call('get', KEYS[1])
if not result then
  redis.call('srem', KEYS[2], ARGV[1])
end
return result
