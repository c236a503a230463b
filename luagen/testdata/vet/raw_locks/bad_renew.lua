local leader, owner, ms = KEYS[1], ARGV[1], ARGV[2]
if redis.call('exists', leader) == 1 then
  redis.call('pexpire', leader, ms)
  redis.call('hset', KEYS[2], owner, redis.call('time')[1])
end
return 1
