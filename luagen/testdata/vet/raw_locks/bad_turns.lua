for i, stock in ipairs(KEYS) do
  local left = tonumber(redis.call('get', stock) or '0')
  if left < tonumber(ARGV[i]) then return i end
  redis.call('decrby', stock, ARGV[i])
end
for i = 2, #KEYS do
  if redis.call('llen', KEYS[i]) > 100 then return {err = 'FULL'} end
  redis.call('rpush', KEYS[i], ARGV[1])
end
return 0
