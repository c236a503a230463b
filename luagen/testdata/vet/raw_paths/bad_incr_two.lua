local n = tonumber(redis.call('INCR', KEYS[1]))
if n == 2 then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
elseif n > tonumber(ARGV[2]) then
  return 0
end
return 1
