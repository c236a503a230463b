math.randomseed(redis.call("time")[2])
