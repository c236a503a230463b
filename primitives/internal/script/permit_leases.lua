--- The permits of a permit semaphore. Those that are free are counted in one key. Those that are taken
--- have an id of 16 bytes each, in a sorted set, with the time at which their lease ends, in milliseconds
--- of the server's clock. One whose lease has ended is free: the next script that writes takes it out and
--- counts it. Without the count there is no semaphore, and what is left of the set means nothing. An
--- owner is some ids, one after the other.
---
---@library
---@include clock.lua
---@include permits.lua

-- shared reports whether a semaphore that is to be made would have the leases of another, its twin: it would take out
-- those that the other has lent, and count them as its own.
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

-- running returns how many of some ids have leases that still run.
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
