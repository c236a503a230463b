-- ARGV[1]: token of the caller
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('rpush', KEYS[2], ARGV[1])
return redis.call('del', KEYS[1])
