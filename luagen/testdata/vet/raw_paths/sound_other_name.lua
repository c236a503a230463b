local value, permits = KEYS[2], KEYS[4]
if ARGV[1] == '1' then
  value, permits = KEYS[3], KEYS[5]
end
redis.call('set', value, ARGV[2])
redis.call('zadd', permits, ARGV[3], ARGV[4])
redis.call('pexpire', value, 5000)
redis.call('pexpire', permits, 5000)
return redis.call('pexpire', KEYS[1], 5000)
