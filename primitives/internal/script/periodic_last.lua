--- Returns the start of the last completed period of a periodic job, and the server's time. It fails if the user may
--- not record a period: otherwise each replica would run the job, and none could record it.
---
---@key completed string    the start of the last completed period, in Unix milliseconds, decimal
---@return int? start       nil: none
---@return unixmilli now
---@error NOTANUMBER the key holds a text that is no whole number
---@retry safe
---@include clock.lua
---@include decimal.lua
---@include rights.lua
local start = redis.call('get', completed)
if start and not integer(start) then
  return redis.error_reply('NOTANUMBER the key holds no whole number')
end
may('set', completed)
return {start, clock()}
