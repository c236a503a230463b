if redis.call('rpush', KEYS[1], ARGV[1]) >= 2 then
  redis.call('expire', KEYS[1], ARGV[2])
end
