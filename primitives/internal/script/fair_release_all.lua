--- Is fair_release for each owner. The owners of one lock leave its queue together. Each lock has a status of its own:
--- a refusal for one lock does not fail the others.
---
---@key objects any...        the four keys of fair_release for each owner
---@command publish publish|spublish
---@arg owners string...
---@arg turns string... per owners   the channels of fair_release
---@return int[] status       per owner: 1 freed, 0 not held by it, -1 not a lock, -2 refused
---@include fair_free.lua
local locks, owners_of = {}, {}
for i, owner in ipairs(owners) do
  local lock = objects[4 * i - 3]
  if not owners_of[lock] then
    owners_of[lock] = {}
    locks[#locks + 1] = i
  end
  table.insert(owners_of[lock], owner)
end
local results = {}
for _, i in ipairs(locks) do
  local function wake(waiter)
    redis.call(publish, turns[i] .. ':' .. waiter, '0') ---@allow channel one for each waiter
  end
  local place = 4 * i - 3
  local done, holder = pcall(free, objects[place], objects[place + 1], objects[place + 2], objects[place + 3],
    owners_of[objects[place]], wake)
  results[objects[place]] = done and {holder} or fault(holder)
end
local status = {}
for i, owner in ipairs(owners) do
  local result = results[objects[4 * i - 3]]
  status[i] = type(result) == 'number' and result or result[1] == owner and 1 or 0
end
return status
