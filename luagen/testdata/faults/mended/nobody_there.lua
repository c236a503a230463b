local fields = redis.call('HGETALL', KEYS[1])
if #fields == 0 then
  return -1
end
return #fields / 2
