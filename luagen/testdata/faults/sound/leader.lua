local leader = redis.call('get', KEYS[1])
if leader == ARGV[1] then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
elseif not leader then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  return 1
end
return 0
