--- Grants the lock like lock_acquire, and stores a text that describes the holder. It publishes the grant.
---
---@key lock hash         owner -> hold count
---@key token string      the last token granted, decimal
---@key holder string     in lines: the owner, the time of its grant in microseconds, and the description
---@arg owner string
---@arg lease milliseconds
---@arg tokenttl milliseconds?  nil: the token key does not expire
---@arg description string
---@command publish publish|spublish
---@channel released       of the release
---@channel granted        of the grants
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
may('set', holder)
may(publish, released)
may(publish, granted)
local time = redis.call('time')
local grant = token_at(time, token, tokenttl)
redis.call('hset', lock, owner, 1)
redis.call('pexpire', lock, lease) ---@allow refused the user may
local since = time[1] .. string.format('%06d', time[2])
redis.call('set', holder, owner .. '\n' .. since .. '\n' .. description, 'px', lease)
redis.call(publish, granted, owner)
return grant
