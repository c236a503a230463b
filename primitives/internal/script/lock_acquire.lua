--- Grants the lock to owner if it is free, with the next fencing token; else tells how long the
--- holder's lease still runs. A grant's token is the server's time in microseconds, or one more
--- than the last token where the clock has not passed that: it rises while the token key lives,
--- and over the loss of that key as far as the servers' clocks agree. Every owner is used for one
--- hold, so that one who already holds the lock is refused like any other.
---
---@key lock hash         owner -> hold count
---@key token string      the last token granted, decimal
---@arg owner string
---@arg lease milliseconds
---@return int? token         nil: the lock is held
---@return milliseconds wait  what the holder's lease still has; -1 ms: it has no end; 0: granted
if redis.call('hlen', lock) > 0 then
  return {false, redis.call('pttl', lock)}
end
local time = redis.call('time')
local now = time[1] .. string.format('%06d', time[2])
local grant = now
local last = redis.call('get', token)
-- Decimal texts of digits only, not numbers: a token may pass 2^53.
if last and (#last > #now or #last == #now and last >= now) then ---@allow compare same length
  redis.call('incr', token)
  grant = redis.call('get', token)
end
-- 30 days, so that names do not pile up.
redis.call('set', token, grant, 'px', 2592000000)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease)
return {grant, 0}
