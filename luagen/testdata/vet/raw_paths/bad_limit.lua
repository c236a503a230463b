local n = redis.call('incr', KEYS[1])
if n > tonumber(ARGV[1]) then
  redis.call('expire', KEYS[1], 1)
  return 0
end
return 1
