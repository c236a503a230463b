--- Grants the lock to owner if it is free, as plain_set, for a client that has not had a grant before: it also checks the
--- permissions of renewal and release. Both have the same answer.
---
---@key lock string       owner
---@arg owner string
---@arg lease milliseconds
---@command publish publish|spublish
---@channel released
---@return string? holder  nil: granted
---@include plain.lua
ask_plain(lock, publish, released)
return redis.call('set', lock, owner, 'nx', 'get', 'px', lease)
