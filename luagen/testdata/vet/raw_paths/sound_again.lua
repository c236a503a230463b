redis.call('hset', KEYS[1], 'a', ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('hset', KEYS[1], 'b', ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
if ARGV[3] == 'long' then
  redis.call('pexpire', KEYS[1], ARGV[4])
end
redis.call('hset', KEYS[2], 'a', ARGV[1])
redis.call('pexpire', KEYS[2], ARGV[2], 'NX')
redis.call('pexpire', KEYS[2], ARGV[2], 'GT')
return 1
