--- Is fair_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key objects any...        the four keys of fair_release for each owner
---@command publish publish|spublish
---@arg owners string...
---@arg turns string... per owners   the channels of fair_release
---@return int[] status       per owner: 1 freed, 0 not held by it, -1 not a lock, -2 refused
---@include fair_free.lua
---@include fault.lua
local status = {}
for i, owner in ipairs(owners) do
  local function wake(waiter)
    redis.call(publish, turns[i] .. ':' .. waiter, '0') ---@allow channel one for each waiter
  end
  local place = 4 * i - 3
  local done, freed = pcall(free, objects[place], objects[place + 1], objects[place + 2],
    objects[place + 3], owner, wake)
  status[i] = done and freed or fault(freed)
end
return status
