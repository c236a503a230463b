--- Grants the semaphore to owner if it has fewer than limit holders. Otherwise it returns the time until the first
--- hold ends. Every owner is used for one hold. Nothing is written if the user lacks a permission that this, or with
--- asks the release, needs.
---
---@key semaphore zset      holder -> when its hold ends, in milliseconds
---@arg owner string
---@arg limit int(1..2147483647)
---@arg lease milliseconds
---@command publish publish|spublish
---@channel released
---@arg asks bool         also check the permissions of the release
---@return int? grant       the server's time in microseconds; nil: refused
---@return milliseconds wait  until there may be room if no holder releases; 0: there is room for more
---@return int free         the number of free slots
---@include counting.lua
local now = clock()
local held = holders(semaphore, now)
local room = limit - held
if room <= 0 then
  return {false, room_in(semaphore, now, held - limit), 0}
end
local wait = room == 1 and full_for(semaphore, now, held, lease) or 0
may('zadd', semaphore)
may('pexpireat', semaphore)
if asks then
  may('zrem', semaphore)
  may('zscore', semaphore)
end
may(publish, released)
local until_last = last(semaphore, now + lease)
enter(semaphore, now, owner, now + lease, until_last)
local grant = micros()
return {grant, wait, room - 1}
