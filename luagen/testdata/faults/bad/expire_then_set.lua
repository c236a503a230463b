local owner = redis.call('get', KEYS[1])
if owner == false or owner == ARGV[1] then
  redis.call('pexpire', KEYS[1], ARGV[2])
  redis.call('set', KEYS[1], ARGV[1])
  return 1
end
return 0
