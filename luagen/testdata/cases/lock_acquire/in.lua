--- Acquires the lock for owner, or tells how long the holder's lease still runs.
---
--- A second paragraph, which is long enough that it must be wrapped when it becomes a doc comment
--- of the Go function.
---
---@key lock hash        owner -> hold count
---@arg lease milliseconds
---@arg owner string
---@return milliseconds? wait   nil: acquired
if redis.call('exists', lock) == 0 then
  redis.call('pexpire', lock, lease)
  redis.call('hset', lock, owner, 1)
  redis.call('pexpire', lock, lease)
  return nil
end
return redis.call('pttl', lock)
