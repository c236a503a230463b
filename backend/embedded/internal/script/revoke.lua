--- Replaces the owner of a lock by one that nobody is, and keeps the lock's expiry: the holder finds
--- another owner in its place, and nobody else can acquire the lock before the lease has ended.
---
---@key lock hash          owner -> hold count
---@return bool revoked    false: nobody holds the lock
---@since embedded
local nobody = '00000000-0000-0000-0000-000000000000:0' -- in the form of an owner, or the hash is no lock
if redis.call('pttl', lock) < 0 or redis.call('hexists', lock, nobody) == 1 then
  return 0
end
local owners = redis.call('hkeys', lock)
-- The key must not be empty in between: it would be deleted, and its expiry with it.
redis.call('hset', lock, nobody, 1)
redis.call('hdel', lock, unpack(owners))
return 1
