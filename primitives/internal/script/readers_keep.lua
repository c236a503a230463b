--- Removes readers whose leases have ended.
---
---@library
---@include rights.lua

-- ask raises an error if the user lacks a permission that keep needs.
local function ask(lock)
  may('hdel', lock)
  may('pexpire', lock)
end

-- keep removes the fields of readers, and makes the lock last as long as the longest remaining lease.
local function keep(lock, gone, longest)
  for _, owner in ipairs(gone) do
    redis.call('hdel', lock, owner)
  end
  if longest > 0 then
    redis.call('pexpire', lock, longest)
  end
end
