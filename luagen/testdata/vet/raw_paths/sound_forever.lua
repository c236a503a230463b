local n = redis.call('incr', KEYS[1])
if n == 1 then
  return n
end
return redis.call('setnx', KEYS[2], n)
