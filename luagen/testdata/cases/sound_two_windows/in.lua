--- Allows so many calls in a minute, and so many in an hour.
---@key minute string
---@key hour string
---@arg perminute int(1..1000000)
---@arg perhour int(1..1000000)
---@return bool allowed
local function exceeded(key, limit)
  local n = redis.call('get', key)
  return n and tonumber(n) >= tonumber(limit)
end
if exceeded(minute, perminute) or exceeded(hour, perhour) then
  return 0
end
local function count(key, seconds)
  if redis.call('incr', key) == 1 then
    redis.call('expire', key, seconds)
  end
end
count(minute, 60)
count(hour, 3600)
return 1
