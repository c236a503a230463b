--- Takes the job that is due first.
---@key jobs zset
---@arg now unixmilli
---@arg ok bool
---@return string id
---@return milliseconds late
---@return string? owner
---@return nil  no job is due
local due = redis.call('zrange', jobs, '-inf', now, 'byscore', 'limit', 0, 1)
if not due[1] then
  if ok then
    return nil
  end
  return
end
local at = redis.call('zscore', jobs, due[1])
if not at then
  return false
end
redis.call('zrem', jobs, due[1])
return {due[1], now - at, false}
