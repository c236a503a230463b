--- Grants the lock to owner if it is free and all waiters before owner have expired. Otherwise it puts owner at the
--- end of the queue, unless owner is in it. Tokens are as in lock_acquire. The script removes the expired waiters
--- before the first other waiter, and wakes that waiter if it may have the lock now. If the server's clock was set
--- back, it corrects the deadlines. Nothing is written if the user lacks a permission that this, or with
--- asks the release, needs.
---
---@key lock hash             owner -> hold count
---@key queue list            the waiting owners, the next one first
---@key timeouts zset         waiting owner -> when it expires for Redisson
---@key deadlines hash        our waiting owner -> when it expires, and its waiter timeout
---@key token string          the last token granted, decimal
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?   nil: the token key does not expire
---@arg waiter_timeout milliseconds?  the owner expires if it does not try again within it; nil: do not queue
---@command publish publish|spublish
---@channel turn prefix       followed by the woken owner
---@arg asks bool         also check the permissions of the release
---@return int? token         nil: refused
---@return milliseconds wait  until the lock may be free for owner if no message wakes it; -1 ms: unknown; 0 ms: there were too many expired waiters for one script
---@include token.lua
---@include fair_queue.lua
---@include fair_heal.lua
---@include alien.lua
local size = redis.call('hlen', lock)
local held = size > 0
if not held and not asks and redis.call('exists', queue, timeouts, deadlines) == 0 then -- The usual case.
  ask_lock(lock)
  may(publish, turn .. ':' .. owner)
  local grant = next_token(token, tokenttl)
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease) ---@allow refused the user may
  return {grant, 0}
end
local now = clock()
if held then
  local strange = alien(lock, size)
  if strange then
    return strange
  end
end
ask_lock(lock, asks)
may('pttl', lock)
if asks then
  may('exists', queue)
end
may(publish, turn .. ':' .. owner)
heal(queue, timeouts, deadlines, now, owner)
local first, dead, amount, more, deadline, late = survey(queue, timeouts, deadlines, now, owner)
if first or waiter_timeout and held or #dead > 0 then
  ask(queue, timeouts, deadlines)
elseif asks and not held then
  ask_drop(queue, timeouts, deadlines)
end
if not held and not more and (first == owner or not first) then
  local grant = next_token(token, tokenttl)
  drop(queue, timeouts, deadlines, dead, amount)
  if first then
    local score = redis.call('zscore', timeouts, owner) or now + lease + share()
    remove(queue, timeouts, deadlines, owner, 0)
    -- The scores behind fall by a share, but the next waiter keeps the time that it has added, from the end of this
    -- lease on: otherwise Redisson's processes would remove it if the queue was not empty for longer than that.
    lower(timeouts, math.min(share(), score - now - lease), {})
  end
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease) ---@allow refused the user may
  return {grant, 0}
end
if late then
  set_right(deadlines, now)
end
if not held and #dead > 0 then
  redis.call(publish, turn .. ':' .. (first or owner), '0')
end
drop(queue, timeouts, deadlines, dead, amount)
if not waiter_timeout then
  return {false, more and not held and 0 or -1}
end
local left = math.max(0, redis.call('pttl', lock))
local listed = first == owner or redis.call('lpos', queue, owner)
if not listed or not redis.call('zscore', timeouts, owner) then
  local last = redis.call('lindex', queue, -1)
  local score = last and redis.call('zscore', timeouts, last) or now + left
  redis.call('zadd', timeouts, score + share(), owner)
end
if not listed then
  redis.call('rpush', queue, owner)
end
redis.call('hset', deadlines, owner, now + waiter_timeout .. ' ' .. waiter_timeout)
if more then
  return {false, 0} -- The next try continues.
end
if not first or first == owner then
  first, deadline = owner, now + waiter_timeout
end
local score = redis.call('zscore', timeouts, first)
-- For Redisson, waiters expire even while the lock is held: its processes would remove a waiter of this package whose
-- score has passed. So if the first waiter is one of this package, all scores rise together, now and then.
if held and deadline and score and score - now < share() * 0.9 then
  lower(timeouts, score - now - share(), {})
end
if first == owner then
  return {false, redis.call('pttl', lock)}
end
return {false, left + math.max(1, math.ceil((deadline or score) - now))}
