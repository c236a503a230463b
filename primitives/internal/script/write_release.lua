--- Ends owner's write hold, and lets every waiter try. If owner has let itself in as a reader meanwhile,
--- the lock is the readers' then.
---
---@key lock hash           mode, and the holds: owner -> 1, owner:write -> 1
---@key side string prefix  in front of each reader's side key: side:owner:rwlock_timeout:1
---@arg owner string
---@command publish publish|spublish
---@channel released
---@return bool released    false: owner does not hold it
---@include readers.lua
---@include readers_keep.lua
if redis.call('hexists', lock, owner .. ':write') == 0 then
  return 0
end
local _, longest, gone = survey(lock, side)
redis.call(publish, released, '1')
if longest == 0 then
  redis.call('del', lock)
  return 1
end
redis.call('hdel', lock, owner .. ':write')
redis.call('hset', lock, 'mode', 'read')
keep(lock, gone, longest)
return 1
