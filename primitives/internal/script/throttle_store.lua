--- Stores the state of a throttle.
---
---@library

-- store stores what is owed at a time. The key exists for as long as something is owed.
local function store(throttle, at, time, parts, permits)
  local text = at .. ' ' .. time
  if parts > 0 then
    text = text .. ' ' .. parts .. ' ' .. permits
  end
  redis.call('set', throttle, text, 'px', math.ceil(time / 1000) + 1)
end
