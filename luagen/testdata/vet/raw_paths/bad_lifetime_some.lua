redis.call('sadd', KEYS[1], ARGV[1])
if redis.call('ttl', KEYS[1]) >= 0 then
  redis.call('expire', KEYS[1], ARGV[2])
end
return 1
