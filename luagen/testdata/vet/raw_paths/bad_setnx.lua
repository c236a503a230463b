if redis.call('setnx', KEYS[1], ARGV[1]) == 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
return 1
