--- Records that the holder of a periodic job's lock has completed a period, unless a later period is recorded.
---
---@key lock hash           owner -> hold count
---@key completed string    the start of the last completed period, in Unix milliseconds, decimal
---@arg owner string
---@arg start int         of the period, in Unix milliseconds
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
if not last or less(last, start) then
  redis.call('set', completed, start, 'px', ttl)
end
return 1
