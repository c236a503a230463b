local holder = false
if redis.call('EXISTS', KEYS[1]) == 1 then
  holder = redis.call('GET', KEYS[1])
end
return {holder, redis.call('PTTL', KEYS[1])}
