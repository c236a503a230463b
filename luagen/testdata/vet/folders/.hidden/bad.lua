redis.call('hste', KEYS[1], 'f', 1)
redis.call('get', KEYS[1], 'f')
redis.call('subscribe', KEYS[1])
total = 1
return redis.cal('get', KEYS[1])
