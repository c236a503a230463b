local rcall = redis.call
local moved = rcall('EXISTS', KEYS[1]) == 1 and rcall('RENAMENX', KEYS[1], KEYS[2]) or 0
return moved
