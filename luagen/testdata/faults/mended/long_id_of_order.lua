local raw = redis.call('HGET', KEYS[1], ARGV[1])
if not raw then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1] .. ':state', ARGV[2])
return 1
