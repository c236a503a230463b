if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  if redis.call('scard', KEYS[2]) > tonumber(ARGV[3]) then
    return 0
  end
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0
