--- The permits of a permit semaphore. One key has the number of free permits. A sorted set has the taken permits: an
--- id of 16 bytes each, with the time at which its lease ends, in milliseconds of the server's clock. A permit whose
--- lease has ended is free: the next script that writes removes and counts it. Without the number there is no
--- semaphore, and the rest of the set means nothing. An owner is a sequence of ids.
---
---@library
---@include clock.lua
---@include permits.lua

-- shared reports whether a new semaphore would have the same set of leases as another semaphore, its twin: it would
-- remove the leases of the other, and count their permits as its own.
local function shared(twin)
  return redis.call('type', twin).ok == 'string'
end

-- ids_of returns the ids of an owner.
local function ids_of(owner)
  local ids = {}
  for at = 1, #owner, 16 do
    ids[#ids + 1] = owner:sub(at, at + 15)
  end
  return ids
end

-- running returns how many of the ids have leases that have not ended.
local function running(leases, ids, now)
  local n = 0
  for _, id in ipairs(ids) do
    local ends = redis.call('zscore', leases, id)
    if ends and tonumber(ends) > now then
      n = n + 1
    end
  end
  return n
end

-- ended returns how many leases have ended.
local function ended(leases, now)
  return redis.call('zcount', leases, '-inf', now)
end
