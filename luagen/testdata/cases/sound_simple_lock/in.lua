--- A lock by SET, with a count of how often it was taken.
---@key lock string
---@key taken string
---@arg owner string
---@arg lease milliseconds
---@return bool acquired
if not redis.call('set', lock, owner, 'NX', 'PX', lease) then
  return 0
end
redis.call('incr', taken)
return 1
