for i = 1, #KEYS do
  local left = tonumber(redis.call('GET', KEYS[i]) or '0')
  if left < tonumber(ARGV[i]) then
    return i
  end
end
for i = 1, #KEYS do
  redis.call('DECRBY', KEYS[i], ARGV[i])
end
return 0
