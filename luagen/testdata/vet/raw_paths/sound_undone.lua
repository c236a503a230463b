if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  if redis.call('exists', KEYS[2]) == 1 then
    redis.call('del', KEYS[1])
    return 0
  end
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
