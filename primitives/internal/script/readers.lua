--- Finds the read holds of a read-write lock. Each reader has a field, its owner, with a count, and for each of the
--- count a side key that expires with the lease. For readers of this package the count is 1.
---
---@library

-- lease_of returns the rest of an owner's longest lease, in milliseconds; 0: all have ended.
local function lease_of(side, owner, count)
  local longest = 0
  for n = 1, tonumber(count) or 0 do
    longest = math.max(longest, redis.call('pttl', side .. ':' .. owner .. ':rwlock_timeout:' .. n))
  end
  return longest
end

-- survey returns the mode, the rest of the longest lease of the readers, the fields of the readers whose leases have
-- ended, and the rest of the shortest lease. An owner that leaves counts as a reader whose lease has ended.
local function survey(lock, side, leaving)
  local mode, longest, gone, shortest = nil, 0, {}, math.huge
  local fields = redis.call('hgetall', lock)
  for i = 1, #fields, 2 do
    local owner, lease = fields[i], 0
    if owner == 'mode' then
      mode = fields[i + 1]
    elseif owner:sub(-6) ~= ':write' then
      if owner ~= leaving then
        lease = lease_of(side, owner, fields[i + 1])
      end
      if lease == 0 then
        gone[#gone + 1] = owner
      else
        shortest = math.min(shortest, lease)
      end
      longest = math.max(longest, lease)
    end
  end
  return mode, longest, gone, shortest
end
