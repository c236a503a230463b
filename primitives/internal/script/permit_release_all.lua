--- Is permit_release for each owner. Each owner has a status of its own: a refusal for one owner does not fail the
--- others.
---
---@key objects any...        in pairs: the free permits, and the leases
---@command publish publish|spublish
---@arg owners string...      one per pair
---@arg channels string... per owners   the channel of the waiters of each
---@return int[] status       per owner: 1 released, 0 not all held, -1 no such semaphore, -2 refused
---@include permit_give_back.lua
---@include fault.lua
local status, now = {}, clock()
for i, owner in ipairs(owners) do
  local function tell(n)
    redis.call(publish, channels[i], n) ---@allow channel one for each semaphore
  end
  local text = redis.pcall('get', objects[2 * i - 1])
  local free = type(text) == 'string' and count(text)
  if free then
    local done, given = pcall(give_back, objects[2 * i - 1], objects[2 * i], owner, false, now, free, tell)
    status[i] = done and given or fault(given)
  else
    status[i] = fault(text)
  end
end
return status
