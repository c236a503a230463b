redis.call('SET', KEYS[1], 'on')
local n = redis.call('INCR', KEYS[2])
if n == 1 then
  redis.call('EXPIRE', KEYS[2], 3600)
end
return n
