local function drop(some)
  if #some > 0 then redis.call('srem', KEYS[1], unpack(some)) end
end
drop(redis.call('lrange', KEYS[2], 0, 99))
drop(redis.call('zrange', KEYS[3], 0, 99))
drop(redis.call('zrevrange', KEYS[3], 0, 99))
drop(redis.call('zrangebyscore', KEYS[3], '-inf', '+inf', 'limit', 0, 100))
drop(redis.call('zrevrangebyscore', KEYS[3], '+inf', '-inf', 'LIMIT', 0, 100))
drop(redis.call('zrangebylex', KEYS[3], '-', '+', 'limit', 0, 100))
drop(redis.call('zrevrangebylex', KEYS[3], '+', '-', 'LIMIT', 0, 100))
