local members = redis.call('smembers', KEYS[2])
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  for i = 1, #members do
    redis.call('incr', KEYS[1] .. i)
  end
  if #members == 0 then
    return 0
  end
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1
