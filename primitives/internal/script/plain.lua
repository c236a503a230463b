--- Checks what the later calls of a plain lock's holder need.
---
---@library
---@include rights.lua

-- ask_plain raises an error if the user may not renew or release the lock, or publish its release.
local function ask_plain(lock, publish, released)
  may('get', lock)
  may('pexpire', lock)
  may('del', lock)
  may(publish, released)
end
