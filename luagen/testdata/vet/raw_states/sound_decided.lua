-- What a name holds on one way alone decides a later condition.
local removed, at, last = false, redis.call('hget', KEYS[2], 'at')
if at then
  if redis.call('exists', KEYS[1]) == 1 then removed = true end
end
if removed then last = at else last = redis.call('incr', KEYS[3]) end
redis.call('expire', KEYS[3], 60)
redis.call('publish', KEYS[1], 'next:' .. last)
if type(at) == 'number' and at < 5 then return 0 end
return last
