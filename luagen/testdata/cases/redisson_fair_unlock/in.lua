--- Frees the lock, and tells the first that waits.
---@key lock hash
---@key queue list
---@arg owner string
---@command publish publish|spublish
---@channel turn prefix  with the owner behind it
---@return bool done
if redis.call('hdel', lock, owner) == 0 then
  return false
end
local head = redis.call('lindex', queue, 0)
if head then
  redis.call(publish, turn .. ':' .. head, '0')
end
return true
