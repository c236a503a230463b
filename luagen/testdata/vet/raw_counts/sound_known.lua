local count = tonumber(redis.call('get', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then return {0, count} end
count = redis.call('incr', KEYS[1])
if redis.call('sismember', KEYS[2], ARGV[2]) == 1 then
  redis.call('srem', KEYS[2], ARGV[2])
  redis.call('hincrby', KEYS[3], 'likes', -1)
end
redis.call('sadd', KEYS[4], ARGV[3])
return {1, count}
