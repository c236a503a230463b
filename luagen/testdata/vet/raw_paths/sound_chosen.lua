local forever = ARGV[3] == 'forever'
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  if forever or ARGV[4] == '1' then
    return 1
  end
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
