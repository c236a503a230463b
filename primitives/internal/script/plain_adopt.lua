--- Grants the lock to owner in exchange for its former owner, for a whole lease. If owner has it, this script has run
--- before, and changes nothing.
---
---@key lock string       owner
---@arg owner string
---@arg former string     the owner to replace
---@arg lease milliseconds
---@command publish publish|spublish
---@channel released
---@arg asks bool         also check the permissions of renewal and release
---@return bool adopted   false: former does not hold the lock
---@retry safe
---@include plain.lua
local held = redis.call('get', lock)
if held == former then
  if asks then
    ask_plain(lock, publish, released)
  end
  redis.call('set', lock, owner, 'px', lease)
  return 1
end
return held == owner and 1 or 0
