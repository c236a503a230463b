local result = redis.call('get', KEYS[1])
if nil == result then
  redis.call('srem', KEYS[2], ARGV[1])
end
return result
