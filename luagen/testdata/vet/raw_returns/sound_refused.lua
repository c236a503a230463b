if redis.call('set', KEYS[1], '1', 'NX', 'EX', 3600) == false then
  return -1
end
redis.call('rpush', KEYS[2], ARGV[1])
