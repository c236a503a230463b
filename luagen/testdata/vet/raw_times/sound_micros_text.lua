local time = redis.call("time")
local micros = time[2]
redis.call("sadd", KEYS[1], ARGV[1] .. "-" .. micros)
