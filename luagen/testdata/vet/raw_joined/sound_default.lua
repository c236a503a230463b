-- A count is no condition, but this is to be on the safe side.
local left = redis.call('pttl', KEYS[1])
if not left then
  left = 0
end
if left < 0 then
  return 0
end
return redis.call('pexpire', KEYS[1], left + 1)
