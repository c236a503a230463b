local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[2])
if not id then
  return false
end
redis.call('HSET', KEYS[3], id, 'active')
return id
