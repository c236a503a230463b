local v = redis.call('HMGET', KEYS[1], 'tokens', 'last')
if v[1] == false then
  redis.call('HSET', KEYS[1], 'tokens', 1, 'last', 2)
  v = redis.call('HMGET', KEYS[1], 'tokens', 'last')
end
return v[1] + v[2]
