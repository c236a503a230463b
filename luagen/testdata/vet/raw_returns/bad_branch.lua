local n = redis.call('incr', KEYS[1])
if n > tonumber(ARGV[1]) then
  return {0, n}
else
  redis.call('expire', KEYS[1], 60, 'NX')
end
