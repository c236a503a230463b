-- KEYS[1]: the lock
-- KEYS[2]: the queue
redis.call('DEL', KEYS[1], KEYS[2])
return redis.call('LLEN', KEYS[3])
