--- Grants the semaphore to owner if it has fewer than limit holders and no earlier waiter. Otherwise it puts owner
--- into the queue, where owner keeps its place for its waiter timeout. Owner passes expired waiters. If the server's
--- clock was set back, the script corrects until when waiters keep their places. It wakes
--- the first waiter if there is still room, or if there may be room before its next try: only the first waiter learns
--- when. Nothing is written if the user lacks a permission that this or the release needs.
---
---@key semaphore zset      holder -> when its hold ends; waiter -> until when it has its place, negative
---@key queue zset          waiter -> its number, and its waiter timeout
---@key counter string      the last number
---@arg owner string
---@arg limit int(1..2147483647)
---@arg lease milliseconds
---@arg waiter_timeout milliseconds?  the place is lost if owner does not try again within it; nil: do not queue
---@command publish publish|spublish
---@channel turn prefix     followed by the woken owner
---@return int? grant       the server's time in microseconds; nil: refused
---@return milliseconds wait  until there may be room for owner if no message wakes it; -1 ms: unknown
---@error NOTANUMBER the last number is none
---@include counting.lua
---@include arrival.lua
local now = clock()
local held = holders(semaphore, now)
local room = limit - held
local first, dead, late = survey(semaphore, queue, now, owner)
if room > 0 and (first == owner or not first) then
  ask(semaphore)
  may('zscore', semaphore)
  may('zcard', queue)
  may(publish, turn .. ':' .. owner)
  -- A waiter tries three times within its waiter timeout.
  local soon = first and full_for(semaphore, now, held, lease) < (waiter_timeout or lease) / 3
  local after = (room > 1 or soon) and survey(semaphore, queue, now, false, owner)
  if after then
    redis.call(publish, turn .. ':' .. after, '0')
  end
  drop(semaphore, queue, dead)
  redis.call('zrem', queue, owner)
  if redis.call('zcard', queue) == 0 then
    redis.call('zremrangebyscore', semaphore, 1 - now, -1) -- The queue may have expired with all waiters.
  end
  enter(semaphore, now, owner, now + lease, last(semaphore, now + lease))
  return {micros(), 0}
end
local score = redis.call('zscore', semaphore, owner)
if score and tonumber(score) >= now then
  return {false, -1} -- This try of owner is late: a place would end its hold.
end
local number
if waiter_timeout and not redis.call('zscore', queue, owner) then
  local previous = tonumber(redis.call('get', counter) or 0)
  if not previous then
    return redis.error_reply('NOTANUMBER the last number is none')
  end
  -- The counter may be lost while there are waiters.
  local behind = redis.call('zrange', queue, -1, -1, 'withscores')
  number = math.floor(math.max(previous, tonumber(behind[2] or 0))) + 1
end
local wait = -1
if waiter_timeout and not (first and first ~= owner) then
  wait = room_in(semaphore, now, held - limit)
end
if waiter_timeout or #dead > 0 or late then
  ask(semaphore)
  may('zscore', semaphore)
  may('set', counter)
  may(publish, turn .. ':' .. owner)
end
local changed = late and corrected(semaphore, queue, now) or {}
if #dead > 0 and first and first ~= owner then
  redis.call(publish, turn .. ':' .. first, '0')
end
drop(semaphore, queue, dead)
set_right(semaphore, changed)
if first and first ~= owner and not redis.call('zscore', semaphore, first) then
  ask(semaphore)
  local by = now + 30000 -- By then it has tried again, or has expired.
  enter(semaphore, now, first, -by, last(semaphore, by))
end
if not waiter_timeout then
  return {false, -1}
end
local kept = now + waiter_timeout
local until_last = last(semaphore, kept)
if number then
  redis.call('set', counter, number, 'pxat', until_last)
  redis.call('zadd', queue, numbered(number, waiter_timeout), owner)
  redis.call('pexpireat', queue, until_last) ---@allow refused the user may
else
  redis.call('pexpireat', queue, until_last)
  redis.call('pexpireat', counter, until_last)
end
enter(semaphore, now, owner, -kept, until_last)
return {false, wait}
