--- Is arrival_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key objects any...      the two keys of arrival_release for each owner
---@arg limit int(1..2147483647)   of all of them
---@command publish publish|spublish
---@arg owners string...
---@arg turns string... per owners   the channels of arrival_release
---@return int[] status     per owner: 1 released, 0 not held by it, -1 not a semaphore, -2 refused
---@include arrival_free.lua
local status = {}
for i, owner in ipairs(owners) do
  local function wake(waiter)
    redis.call(publish, turns[i] .. ':' .. waiter, '0') ---@allow channel one for each waiter
  end
  local place = 2 * i - 1
  local done, freed = pcall(free, objects[place], objects[place + 1], owner, tonumber(limit), wake)
  status[i] = done and freed or fault(freed)
end
return status
