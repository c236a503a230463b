--- Stores the state of a throttle.
---
---@library

-- store stores what is owed at a time. The key exists for as long as something is owed.
local function store(throttle, now, time, parts, permits)
  local text = string.format('%.0f %.0f', now, time)
  if parts > 0 then
    text = text .. string.format(' %.0f %.0f', parts, permits)
  end
  redis.call('set', throttle, text, 'px', string.format('%.0f', math.ceil(time / 1000) + 1))
end
