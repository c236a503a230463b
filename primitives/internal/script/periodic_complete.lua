--- Records that the holder of a periodic job's lock has completed the job for a time, unless a later one is recorded.
---
---@key lock hash           owner -> hold count
---@key completed string    the time for which the job was last completed, in Unix milliseconds, decimal
---@arg owner string
---@arg at int            the time for which the job is due, in Unix milliseconds
---@arg ttl milliseconds    of the record
---@return bool held        false: owner does not hold the lock, and nothing was recorded
---@error NOTANUMBER the key holds a text that is no whole number
---@retry safe
---@include decimal.lua
if redis.call('hexists', lock, owner) == 0 then
  return 0
end
local last = redis.call('get', completed)
if last and not integer(last) then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
if not last or less(last, at) then
  redis.call('set', completed, at, 'px', ttl)
end
return 1
