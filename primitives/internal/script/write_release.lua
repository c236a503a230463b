--- Ends owner's write hold, and wakes all waiters. If owner has also become a reader, the readers hold the lock then.
--- If owner has no write hold, the script removes owner's place.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  the beginning of each reader's side key: side:owner:rwlock_timeout:1
---@key waiting hash        the places of waiting writers: owner -> 1
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return bool released    false: owner does not hold it
---@include readers.lua
---@include readers_keep.lua
---@include writers.lua
if redis.call('hexists', lock, owner .. ':write') == 0 then
  give_back(waiting, owner, function()
    redis.call(publish, released, '0')
    return true
  end)
  return 0
end
local _, longest, gone = survey(lock, side)
ask(lock)
may('hset', lock)
redis.call(publish, released, '1')
if longest == 0 then
  redis.call('del', lock)
  return 1
end
redis.call('hdel', lock, owner .. ':write')
redis.call('hset', lock, 'mode', 'read')
keep(lock, gone, longest)
return 1
