local window = tonumber(ARGV[2]) or 0
local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n == 0 then
  redis.call('SET', KEYS[1], 1, 'PX', window)
  return 0
end
return n
