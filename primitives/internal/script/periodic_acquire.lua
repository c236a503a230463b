--- Grants the lock of a periodic job like lock_acquire, unless the period is completed, or the time is before earliest.
--- It also fails if the user may not record a period: otherwise each replica would run the job, and none could record
--- it.
---
---@key lock hash           owner -> hold count
---@key token string        the last token granted, decimal
---@key completed string    the time for which the job was last completed, in Unix milliseconds, decimal
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key does not expire
---@arg start int           of the period, in Unix milliseconds
---@arg earliest unixmilli
---@command publish publish|spublish
---@channel released        of the release
---@arg asks bool         also check the permissions of the release
---@return int answer       as of lock_acquire; 0: the period, or a later one, is completed, or it is before earliest
---@return unixmilli now
---@return int? last        the record
---@error NOTANUMBER the key of the record holds a text that is no whole number
---@include token.lua
---@include alien.lua
---@include decimal.lua
local last = redis.call('get', completed)
if last and not integer(last) then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < tonumber(earliest) or last and not less(last, start) then
  return {0, now, last}
end
local size = redis.call('hlen', lock)
if size > 0 then
  local strange = alien(lock, size)
  return strange or {-2 - redis.call('pttl', lock), now, last}
end
may('set', completed)
ask_lock(lock, asks)
may(publish, released)
local grant = token_at(time, token, tokenttl)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease) ---@allow refused the user may
return {grant, now, last}
