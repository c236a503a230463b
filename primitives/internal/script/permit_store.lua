--- Changes the permits of a permit semaphore.
---
---@library
---@include permit_leases.lua
---@include rights.lua

-- lend gives ids leases that end at the given time.
local function lend(leases, ids, ends)
  local scores = {}
  for _, id in ipairs(ids) do
    scores[#scores + 1] = ends
    scores[#scores + 1] = id
  end
  redis.call('zadd', leases, unpack(scores))
end

-- renew gives an owner's ids leases that end at the given time, if none of their leases has ended. Then it returns 1,
-- else 0.
local function renew(leases, owner, now, ends)
  local ids = ids_of(owner)
  if running(leases, ids, now) < #ids then
    return 0
  end
  redis.call('zrem', leases, '') -- It removes nothing: after it, a server that is out of memory takes the zadd, too.
  lend(leases, ids, ends)
  return 1
end

-- store changes the number of free permits, and removes the leases that have ended. If the number is more than
-- before, store publishes it first. If any of that is refused, nothing has been written.
local function store(permits, leases, now, before, after, tell)
  may('incrby', permits)
  may('zremrangebyscore', leases)
  if after > before and after > 0 then
    tell(string.format('%.0f', after))
  end
  redis.call('zremrangebyscore', leases, '-inf', now)
  redis.call('incrby', permits, string.format('%.0f', after - before))
end
