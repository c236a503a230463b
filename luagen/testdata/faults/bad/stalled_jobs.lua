local rcall = redis.call
local active = rcall('LRANGE', KEYS[1], 0, -1)
if #active == 0 then
  return 0
end
rcall('SADD', KEYS[2], unpack(active))
return #active
