local n = tonumber(redis.call('get', KEYS[1]) or '0')
if n < 10 then
  redis.call('incrbyfloat', KEYS[1], 0.5)
elseif n < 20 then
  redis.call('get', KEYS[2])
elseif n < 30 then
  return tonumber(redis.call('incrbyfloat', KEYS[1], ARGV[1]))
else
  return 0
end
