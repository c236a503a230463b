--- Ends the read hold of each owner, as read_release does. Each has a status of its own: what is refused
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
  local field = redis.pcall('hexists', lock, owners[i])
  if field == 1 then
    local hold = sides[i] .. ':' .. owners[i] .. ':rwlock_timeout:1'
    status[i] = redis.call('exists', hold) ---@allow key it is in the lock's slot
    local mode, longest, gone = survey(lock, sides[i], owners[i]) ---@allow key it is in the lock's slot
    if mode == 'read' and longest == 0 then
      local sent = redis.pcall(publish, channels[i], '0') ---@allow channel one for each lock
      if type(sent) == 'number' then
        redis.call('del', lock, hold) ---@allow key it is in the lock's slot
      else
        status[i] = -2
      end
    else
      redis.call('del', hold) ---@allow key it is in the lock's slot
      keep(lock, gone, mode == 'read' and longest or 0)
    end
  elseif field == 0 then
    status[i] = 0
  else
    status[i] = -1
  end
end
return status
