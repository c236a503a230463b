local popped = redis.call('ZPOPMIN', KEYS[1])
if #popped > 0 then
  redis.call('ZADD', KEYS[2], popped[2], popped[1])
end
return popped
