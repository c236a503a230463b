local busy = redis.call('EXISTS', KEYS[2])
if busy == 0 then
  redis.call('RENAME', KEYS[1], KEYS[2])
end
return redis.call('LRANGE', KEYS[2], 0, 99)
