if redis.call('exists', KEYS[1]) then
  return redis.call('hincrby', KEYS[1], 'hits', 1)
end
return 0
