--- Extends the hold of each owner that holds its mutex to a whole lease. Each owner has a status of its own: a key of
--- another kind does not fail the others.
---
---@key holders string...   owner
---@arg lease milliseconds
---@arg owners string... per holders
---@return int[] status     per mutex: 1 renewed, 0 held by nobody, 3 held by another, -1 not a mutex, -2 refused
---@return string[] others  of each status 3: that owner
---@retry safe
---@include fault.lua
local status, others = {}, {}
for i, holder in ipairs(holders) do
  local held = redis.pcall('get', holder)
  if held == owners[i] then
    status[i] = redis.call('pexpire', holder, lease)
  elseif type(held) == 'string' then
    status[i], others[#others + 1] = 3, held
  else
    status[i] = type(held) == 'table' and fault(held) or 0
  end
end
return {status, others}
