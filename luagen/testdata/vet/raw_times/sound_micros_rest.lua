local n = redis.call("time")[2] % 10
redis.call("lpush", KEYS[1], n)
