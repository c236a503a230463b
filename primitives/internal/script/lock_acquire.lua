--- Grants the lock to owner if it is free, with the next fencing token; else returns how long the
--- holder's lease still runs. A grant's token is the server's time in microseconds, or one more
--- than the last token where the clock has not passed that. If there is a tokenttl, the token key expires
--- when the clock has passed the last token by that: a later token is higher, unless the clock was set
--- back by more. Every owner is used for one hold, so that one who already holds the lock is
--- refused like any other.
---
---@key lock hash         owner -> hold count
---@key token string      the last token granted, decimal
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key has no end
---@return int? token         nil: the lock is held
---@return milliseconds wait  what the holder's lease still has; -1 ms: it has no end; 0: granted
---@include token.lua
if redis.call('hlen', lock) > 0 then
  return {false, redis.call('pttl', lock)}
end
local grant = next_token(token, tokenttl)
-- This does nothing, since there is no lock yet. A user whose ACL lacks PEXPIRE is refused here and
-- not below, which would leave a lock for ever. It comes behind SET because servers check for memory
-- before a script's first write only, and PEXPIRE, which counts as one, needs none.
redis.call('pexpire', lock, lease)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease)
return {grant, 0}
