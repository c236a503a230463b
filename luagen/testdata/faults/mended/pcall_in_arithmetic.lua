local n = redis.call('INCR', KEYS[1])
if n > tonumber(ARGV[2]) then
  return 0
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
