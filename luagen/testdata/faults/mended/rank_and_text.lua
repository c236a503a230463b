local rank = redis.call('zrank', KEYS[1], ARGV[2])
if rank and rank < tonumber(ARGV[1]) then
  return 1
end
return 0
