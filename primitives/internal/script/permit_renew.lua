--- Extends the leases of each owner's permits to a whole lease, if none of them has ended. Each owner has a status of
--- its own: a key of another kind does not fail the others.
---
---@key objects any...        in pairs: the free permits, and the leases
---@arg lease milliseconds
---@arg owners string...      one per pair: its ids, 16 bytes each
---@return int[] status       per owner: 1 renewed, 0 not all held, -1 no such semaphore, -2 refused
---@retry safe
---@include permit_store.lua
---@include fault.lua
local status, now = {}, clock()
for i, owner in ipairs(owners) do
  local text = redis.pcall('get', objects[2 * i - 1])
  if type(text) == 'string' and count(text) then
    local done, renewed = pcall(renew, objects[2 * i], owner, now, now + lease)
    status[i] = done and renewed or fault(renewed)
  elseif type(text) == 'table' then
    status[i] = fault(text)
  else
    status[i] = text and -1 or 0
  end
end
return status
