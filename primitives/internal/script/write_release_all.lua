--- Ends the write hold of each owner, as write_release does. Each has a status of its own: what is refused
--- for one costs only itself.
---
---@key locks hash...       mode, and the holds: owner -> 1, owner:write -> 1
---@command publish publish|spublish
---@arg owners string... per locks
---@arg sides string... per locks      in front of the side keys of each lock's readers
---@arg channels string... per locks   where the waiters of each listen
---@return int[] status     per lock: 1 released, 0 not held by its owner, -1 not a lock, -2 refused
---@include readers.lua
---@include readers_keep.lua
local status = {}
for i, lock in ipairs(locks) do
  local field = redis.pcall('hexists', lock, owners[i] .. ':write')
  if field == 1 then
    local _, longest, gone = survey(lock, sides[i]) ---@allow key it is in the lock's slot
    local sent = redis.pcall(publish, channels[i], '1') ---@allow channel one for each lock
    status[i] = 1
    if type(sent) ~= 'number' then
      status[i] = -2
    elseif longest == 0 then
      redis.call('del', lock)
    else
      redis.call('hset', lock, 'mode', 'read')
      redis.call('hdel', lock, owners[i] .. ':write')
      keep(lock, gone, longest)
    end
  elseif field == 0 then
    status[i] = 0
  else
    status[i] = -1
  end
end
return status
