-- An id for ever, one for a day; a stock and a reservation.
local id = redis.call('incr', KEYS[1])
redis.call('incr', KEYS[2])
redis.call('expire', KEYS[2], 86400)
if redis.call('exists', KEYS[4]) == 0 then
  redis.call('hset', KEYS[3], 'available', ARGV[1])
  redis.call('hset', KEYS[4], 'state', 'RESERVED')
  redis.call('expire', KEYS[4], 60)
end
redis.call('set', KEYS[5], ARGV[2])
redis.call('set', KEYS[6], ARGV[2], 'ex', 60)
return id
