local rcall = redis.call
local id = rcall("RPOPLPUSH", KEYS[1], KEYS[2])
if not id then
  return {}
end
rcall("HSET", KEYS[3], id, ARGV[1])
return {id, rcall("LLEN", KEYS[1])}
