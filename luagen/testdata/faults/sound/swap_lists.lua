if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('RENAME', KEYS[1], KEYS[2])
  redis.call('EXPIRE', KEYS[2], 3600)
end
return redis.call('LRANGE', KEYS[2], 0, 99)
