--- Deletes a lock if it is its owner's.
---@key lock string
---@arg owner string
---@return bool deleted
if redis.call("GET", lock) == owner then
  return redis.call("DEL", lock)
else
  return 0
end
