--- Changes the permits of a permit semaphore.
---
---@library
---@include permit_leases.lua
---@include rights.lua

-- lend gives ids a lease until then.
local function lend(leases, ids, ends)
  local scores = {}
  for _, id in ipairs(ids) do
    scores[#scores + 1] = ends
    scores[#scores + 1] = id
  end
  redis.call('zadd', leases, unpack(scores))
end

-- renew gives an owner's ids a lease until then if the leases of all still run. It returns 1 then, else 0.
local function renew(leases, owner, now, ends)
  local ids = ids_of(owner)
  if running(leases, ids, now) < #ids then
    return 0
  end
  lend(leases, ids, ends)
  return 1
end

-- store makes the number of free permits another, and takes out the leases that have ended. If it is
-- more than was counted it first tells the waiters. If any of that is refused, nothing has been written.
local function store(permits, leases, now, before, after, tell)
  may('incrby', permits)
  may('zremrangebyscore', leases)
  if after > before and after > 0 then
    tell(string.format('%.0f', after))
  end
  redis.call('zremrangebyscore', leases, '-inf', now)
  redis.call('incrby', permits, string.format('%.0f', after - before))
end
