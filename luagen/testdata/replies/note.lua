--- Leaves a note, if there is a place for it.
---@key lock string
---@key note string?  where to leave it
---@arg last string
---@return bool noted
redis.call('set', lock, last)
if note then
  redis.call('set', note, last)
  return true
end
return 0
