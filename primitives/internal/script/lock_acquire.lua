--- Grants the lock to owner if it is free, with the next fencing token; else returns how long the
--- holder's lease still runs. A grant's token is the server's time in microseconds, or one more
--- than the last token where the clock has not passed that. If there is a tokenttl, the token key expires
--- when the clock has passed the last token by that: a later token is higher, unless the clock was set
--- back by more. Every owner is used for one hold, so that one who already holds the lock is
--- refused like any other. Nothing is written if the user lacks a right that this needs, or the release.
---
---@key lock hash         owner -> hold count
---@key token string      the last token granted, decimal
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key has no end
---@command publish publish|spublish
---@arg released string     the channel of the release; empty: it publishes nothing
---@return int answer      the token; if the lock is held, -2 less the milliseconds that the holder's lease still has: -1 if it has no end
---@include token.lua
---@include alien.lua
local size = redis.call('hlen', lock)
if size > 0 then
  return alien(lock, size) or -2 - redis.call('pttl', lock)
end
may('hset', lock)
may('pexpire', lock)
may('hexists', lock)
may('del', lock)
if released ~= '' then
  may(publish, released)
end
local grant = next_token(token, tokenttl)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease) ---@allow refused the user may
return grant
