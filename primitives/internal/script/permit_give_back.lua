--- Releases permits of a permit semaphore.
---
---@library
---@include permit_store.lua

-- give_back releases an owner's permits, and permits whose leases have ended. It returns 1 if no lease of the owner's
-- permits had ended, else 0. With whole it does nothing if a lease had ended.
local function give_back(permits, leases, owner, whole, now, free, tell)
  local ids = ids_of(owner)
  local held = running(leases, ids, now)
  if whole and held < #ids then
    return 0
  end
  local back = ended(leases, now)
  local after = free + held + back
  if after > free then
    may('zrem', leases)
    store(permits, leases, now, free, after, tell)
    redis.call('zrem', leases, unpack(ids))
  end
  return held == #ids and 1 or 0
end
