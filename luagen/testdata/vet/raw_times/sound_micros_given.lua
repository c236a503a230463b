local function millis(t) return t[1] * 1000 + t[2] / 1000 end
local time = redis.call("time")
redis.call("zadd", KEYS[1], millis(time), time[2])
