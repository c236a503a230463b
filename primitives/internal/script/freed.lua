--- Ends a hold although another key of its object is of another kind.
---
---@library
---@include fault.lua

-- try calls free, which ends a hold and changes the other keys of the object, and returns false and the results of
-- free. If one of these keys is of another kind, try calls drop, which ends only the hold, and returns true. It raises
-- other errors.
local function try(drop, free, ...)
  local done, first, second, third = pcall(free, ...)
  if done then
    return false, first, second, third
  end
  if fault(first) ~= -1 then
    error(first, 0)
  end
  drop()
  return true
end

-- side_conflict returns the error of a release after which only the hold has ended.
local function side_conflict()
  return redis.error_reply('SIDEKIND the hold has ended, but another key is of another kind')
end
