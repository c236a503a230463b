--- Names the owner that holds a lock instead of the owner that has lost it.
---
---@library
---@include fault.lua
---@include owner.lua

-- lost returns the status of an owner after a reply that it does not hold the lock: that of fault, or -1 if another
-- program has the hash, or 3 if another owner holds the lock. It adds the field of that owner to others, or an empty text
-- if there are too many to look.
local function lost(reply, lock, others)
  local size = reply == 0 and redis.pcall('hlen', lock)
  if type(size) ~= 'number' or size == 0 then
    return fault(reply)
  end
  local looked, owner, strange = size < 9, '', nil
  if looked then
    looked, owner, strange = pcall(owner_of, lock)
  end
  if strange then
    return -1
  end
  others[#others + 1] = looked and owner or ''
  return 3
end
