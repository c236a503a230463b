--- Takes permits of the present window, if it has as many left. The first permits that are taken begin a window: the
--- key expires at its end, and then all permits are free. A refusal changes nothing.
---
---@key limiter hash   taken: how many permits of the window are taken
---@arg permits int(1..1000000)
---@arg limit int(1..1000000)   the permits of a window
---@arg window milliseconds
---@return bool granted
---@return int left   permits that are free now
---@return milliseconds wait   until the window ends, rounded up; negative: it does not end by itself
local taken = tonumber(redis.call('hget', limiter, 'taken') or '0')
local granted = taken + tonumber(permits) <= tonumber(limit)
if granted then
  if taken == 0 then -- What may be refused comes before the first write. PEXPIRE finds nothing yet.
    redis.call('pexpire', limiter, window)
  end
  taken = redis.call('hincrby', limiter, 'taken', permits)
  if taken == tonumber(permits) then
    redis.call('pexpire', limiter, window)
  end
end
local wait = redis.call('pttl', limiter)
if wait == 0 then
  wait = 1
end
return {granted, tonumber(limit) - taken, wait}
