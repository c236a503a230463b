if redis.call('exists', KEYS[1]) == 1 then
  return redis.call('decr', KEYS[1])
end
