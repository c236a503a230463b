--- Names the owner that holds a lock instead of the owner that has lost it.
---
---@library
---@include fault.lua

-- lost returns the status of an owner after a reply that it does not hold the lock: that of fault, or 3 if another owner
-- holds the lock. It adds the name of that owner to others, or an empty text if there are too many to look.
local function lost(reply, lock, others)
  local size = reply == 0 and redis.pcall('hlen', lock)
  if type(size) ~= 'number' or size == 0 then
    return fault(reply)
  end
  local fields = size < 9 and redis.pcall('hgetall', lock) or {}
  local name = fields[1] == 'mode' and fields[3] or fields[1] or '' -- A read-write lock has its mode first.
  others[#others + 1] = string.gsub(name, ':write$', '')
  return 3
end
