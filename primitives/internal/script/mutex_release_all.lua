--- Is mutex_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key objects any...        the four keys of mutex_release for each owner
---@arg tokenttl milliseconds?
---@command publish publish|spublish
---@arg owners string...
---@arg channels string... per owners   the channels of mutex_release
---@return int[] status       per owner: 1 released, 0 not held by it, -1 not a mutex, -2 refused
---@include mutex_free.lua
local status = {}
for i, owner in ipairs(owners) do
  local function tell(group, message)
    redis.call(publish, channels[i] .. ':' .. group, message) ---@allow channel one for each group
  end
  local function may_tell(group)
    may(publish, channels[i] .. ':' .. group)
  end
  local place = 4 * i - 3
  local done, released, more = pcall(free, objects[place], objects[place + 1], objects[place + 2],
    objects[place + 3], owner, tokenttl, tell, may_tell)
  status[i] = done and released or fault(released)
  while done and more == 1 do
    done, released, more = pcall(free, objects[place], objects[place + 1], objects[place + 2],
      objects[place + 3], owner, tokenttl, tell, may_tell)
  end
end
return status
