local rank = redis.call('ZRANK', KEYS[1], ARGV[1])
if rank == nil then
  return 0
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
return 1
