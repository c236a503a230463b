local left = redis.call('pttl', KEYS[1])
if left == -1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
elseif redis.call('get', KEYS[1]) == ARGV[2] then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 'mine'
end
redis.call('lpush', KEYS[2], ARGV[2])
return 'theirs'
