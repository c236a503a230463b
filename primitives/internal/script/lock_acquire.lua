--- Grants the lock to owner if it is free, with the next fencing token. Otherwise it returns the rest of the holder's
--- lease. A grant's token is the server's time in microseconds, or one more than the last token if the clock has not
--- passed that. With a tokenttl, the token key expires when the clock has passed the last token by tokenttl: a later
--- token is higher, unless the clock was set back by more. Every owner is used for one hold, so the present
--- holder is refused like any other owner. Nothing is written if the user lacks a permission that this, or with asks
--- the release, needs.
---
---@key lock hash         owner -> hold count
---@key token string      the last token granted, decimal
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key does not expire
---@command publish publish|spublish
---@arg released string     the channel of the release; empty: the release publishes nothing
---@arg asks bool         also check the permissions of the release
---@return int answer      the token; if the lock is held, -2 minus the rest of the holder's lease in milliseconds: -1 if it has no expiry
---@include token.lua
---@include alien.lua
local size = redis.call('hlen', lock)
if size > 0 then
  local strange = alien(lock, size)
  return strange or -2 - redis.call('pttl', lock)
end
ask_lock(lock, asks)
if released ~= '' then
  may(publish, released)
end
local grant = next_token(token, tokenttl)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease) ---@allow refused the user may
return grant
