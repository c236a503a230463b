--- Reads the server's clock.
---
---@library

-- clock returns the server's time in milliseconds.
local function clock()
  local time = redis.call('time')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- micros returns the server's time in microseconds, which distinguishes grants.
local function micros()
  local time = redis.call('time')
  return time[1] * 1000000 + time[2]
end
