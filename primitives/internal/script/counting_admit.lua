--- Grants the semaphore to owner as counting_acquire does, and takes permits of throttles as throttle_take_all does, or
--- does neither. If owner holds the semaphore already, a call is a repeat: it renews the hold, and takes no permits.
--- Nothing is written if the user lacks a permission that this or the release needs.
---
---@key semaphore zset      holder -> when its hold ends, in milliseconds
---@key throttles string...  seconds micros owed [parts of]
---@arg owner string
---@arg limit int(1..2147483647)
---@arg lease milliseconds
---@command publish publish|spublish
---@channel released
---@arg takes int(1..10000000)... per throttles
---@arg permits int(1..10000000)... per throttles          in an interval
---@arg intervals int(1000..31622400000000)... per throttles   microseconds
---@arg bursts int(1..10000000)... per throttles           permits
---@return int? grant       the server's time in microseconds; nil: refused
---@return milliseconds wait  until there may be room if no holder releases; 0: there is room
---@return int free         the number of free slots
---@return int[] remaining  permits that are free now
---@return int[] retry      microseconds until the wanted permits are free; 0: they were
---@return int[] reset      microseconds until all permits are free
---@error OTHERKIND a key holds a text that is no throttle
---@include counting.lua
---@include throttle_takes.lua
local now, text = moment()
local at = math.floor(now / 1000)
local ends = redis.call('zscore', semaphore, owner)
local again = ends and tonumber(ends) >= at
local held = holders(semaphore, at) - (again and 1 or 0)
local room = limit - held
local states, retry, longest, strange = asked(throttles, takes, permits, intervals, bursts, now)
if strange then
  return strange
end
local granted = again or room > 0 and longest == 0
local wait = 0
if granted then
  ask(semaphore)
  may('zscore', semaphore)
  may(publish, released)
  wait = room == 1 and full_for(semaphore, at, held, lease) or 0
elseif room <= 0 then
  wait = room_in(semaphore, at, held - limit)
end
local until_last = granted and last(semaphore, at + lease)
local remaining, reset = settled(throttles, takes, permits, intervals, text, states, granted and not again)
if granted then
  enter(semaphore, at, owner, at + lease, until_last)
  room = room - 1
end
return {granted and now, wait, math.max(0, room), remaining, retry, reset}
