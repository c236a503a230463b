local rcall = redis.call
local moved = rcall('RENAMENX', KEYS[1], KEYS[2])
return moved
